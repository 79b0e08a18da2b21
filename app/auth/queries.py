"""Finds the principal behind a secret and says whether its key still counts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, bindparam, exists, func, select, text
from sqlalchemy.ext.asyncio import AsyncSession

from app.auth.models import ApiKey
from app.auth.principal import Principal
from app.auth.roles import Role
from app.auth.tokens import hash_secret
from app.db.engine import Database
from app.errors import Forbidden, Unauthenticated

_FIND = "select id, team_id, role, name, agent_id from api_key where hash = $1"
LIVE = "revoked_at is null and (expires_at is null or expires_at > now())"
_LIVING = f"select id from api_key where id = any($1) and {LIVE}"
_AGENT = text("select name, status from agent where team_id = :team_id and id = :agent_id")
DEAD_KEY = "This API key was revoked or has expired. Ask an admin of your team for a new one."


def is_live(key_id: Any) -> ColumnElement[bool]:
    """SQL that is true while the key is neither revoked nor expired. Rides in the statement that it guards."""
    live = (ApiKey.id == key_id) & ApiKey.revoked_at.is_(None)
    return exists().where(live & (ApiKey.expires_at.is_(None) | (ApiKey.expires_at > func.now())))


_IS_LIVE = select(is_live(bindparam("key_id")))  # every mutation asks, so it is built once


async def find_principal(database: Database, secret: str) -> Principal | None:
    """The facts of the key, live or not; None when there is no such key."""
    row = await database.fetchrow(_FIND, hash_secret(secret))
    if row is None:
        return None
    return Principal(row["id"], row["team_id"], Role(row["role"]), row["name"], row["agent_id"], secret)


async def living(database: Database, key_ids: Sequence[UUID]) -> set[UUID]:
    """Those of the keys that are neither revoked nor expired; raises Unavailable."""
    return {row["id"] for row in await database.fetch(_LIVING, list(key_ids))}


async def require_live(session: AsyncSession, key_id: UUID) -> None:
    if not await session.scalar(_IS_LIVE, {"key_id": key_id}):
        raise Unauthenticated(DEAD_KEY)


async def require_active_agent(session: AsyncSession, principal: Principal) -> None:
    """Raises Forbidden for the key of an agent that is paused or archived. Keys of people and programs always pass."""
    if principal.agent_id is None:
        return
    parameters = {"team_id": principal.team_id, "agent_id": principal.agent_id}
    name, status = (await session.execute(_AGENT, parameters)).one()
    if status != "active":
        advice = "Ask an operator to resume it." if status == "paused" else "Use another agent's key."
        raise Forbidden(f"{name} is {status}, so its key can read but not write. {advice}")
