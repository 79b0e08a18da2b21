"""Keeps the claims of a process alive, all with one statement."""

from __future__ import annotations

from collections.abc import Collection
from datetime import timedelta
from uuid import UUID

from sqlalchemy import func, select, update
from sqlalchemy.ext.asyncio import AsyncSession

from app.db.engine import Database
from app.tasks.models import Task

_VALID = "select claim_token from task where claim_token = any($1)"


async def extend(session: AsyncSession, claims: Collection[UUID], lease_s: int) -> None:
    """A claim that counts no more is left alone, and so is one that somebody is just now changing: the next time will
    do. Nobody is told: nothing happened."""
    until = func.clock_timestamp() + timedelta(seconds=lease_s)
    mine = select(Task.id).where(Task.claim_token.in_(claims)).with_for_update(key_share=True, skip_locked=True)
    await session.execute(update(Task).where(Task.id.in_(mine)).values(lease_until=until))


async def valid_claims(database: Database, claims: Collection[UUID]) -> set[UUID]:
    """Those of the claims that still count."""
    return {row["claim_token"] for row in await database.fetch(_VALID, list(claims))}
