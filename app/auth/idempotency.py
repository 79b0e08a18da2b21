"""Idempotency keys: the same key and input give the first answer again, at whatever moment they come.

The record is written in the mutation's own transaction. Its primary key makes a concurrent duplicate wait until the
first has committed (and then take its answer) or rolled back (and then do the work itself). Refusals roll back, so
they are not remembered: nothing happened.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import UUID

from sqlalchemy import delete, select, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncSession

from app.auth.models import IdempotencyRecord
from app.clock import now
from app.errors import AppError, check_text

MAX_KEY = 200


class IdempotencyConflict(AppError):
    code = "IDEMPOTENCY_CONFLICT"


async def begin(
    session: AsyncSession, *, api_key_id: UUID, key: str, mutation: str, input_hash: bytes
) -> dict[str, Any] | None:
    """The outcome kept under this key, or None for the first caller, who then owes `finish`."""
    check_text("idempotencyKey", key, least=1, most=MAX_KEY)
    row = {"api_key_id": api_key_id, "key": key, "mutation": mutation, "input_hash": input_hash}
    first = await session.scalar(
        insert(IdempotencyRecord).values(row).on_conflict_do_nothing().returning(IdempotencyRecord.key)
    )
    if first is not None:
        return None
    kept = await session.scalar(
        select(IdempotencyRecord).where(IdempotencyRecord.api_key_id == api_key_id, IdempotencyRecord.key == key)
    )
    assert kept is not None
    if kept.mutation != mutation or kept.input_hash != input_hash:
        raise IdempotencyConflict(
            f"This idempotency key was used for {kept.mutation} with another input. Use a new key for a new request."
        )
    assert kept.outcome is not None
    return kept.outcome


async def finish(session: AsyncSession, *, api_key_id: UUID, key: str, outcome: dict[str, Any]) -> None:
    mine = (IdempotencyRecord.api_key_id == api_key_id) & (IdempotencyRecord.key == key)
    await session.execute(update(IdempotencyRecord).where(mine).values(outcome=outcome))


async def forget_old(session: AsyncSession, *, hours: int) -> int:
    old = IdempotencyRecord.created_at < now() - timedelta(hours=hours)
    gone = await session.scalars(delete(IdempotencyRecord).where(old).returning(IdempotencyRecord.key))
    return len(gone.all())
