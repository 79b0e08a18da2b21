"""Issues and revokes API keys."""

from __future__ import annotations

from datetime import UTC, datetime
from uuid import UUID

from sqlalchemy import select, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncSession

from app.auth.models import ApiKey
from app.auth.roles import Role
from app.auth.tokens import hash_secret, visible_prefix
from app.clock import now
from app.errors import Conflict, InvalidInput, NotFound, check_text
from app.events.kinds import EventKind
from app.events.log import Actor, append
from app.ids import Prefix, to_global

_LATEST_EXPIRY = datetime(3000, 1, 1, tzinfo=UTC)


async def issue(
    session: AsyncSession,
    *,
    team_id: UUID,
    name: str,
    role: Role,
    secret: str,
    actor: Actor,
    agent_id: UUID | None = None,
    expires_at: datetime | None = None,
) -> ApiKey:
    """Keep a new key's hash. The secret is the caller's to show, once."""
    name = check_text("name", name, least=1, most=120)
    if (role is Role.AGENT) != (agent_id is not None):
        raise InvalidInput.of("agentId", "is needed for the role AGENT and only for it")
    if expires_at is not None and not now() < expires_at < _LATEST_EXPIRY:
        raise InvalidInput.of("expiresAt", "must lie in the future, and in this millennium")
    key = ApiKey(
        team_id=team_id,
        name=name,
        role=role,
        agent_id=agent_id,
        prefix=visible_prefix(secret),
        hash=hash_secret(secret),
        expires_at=expires_at,
    )
    session.add(key)
    try:
        await session.flush()
    except IntegrityError as error:
        if "fk_api_key_team_id_agent_id" not in str(error.orig):
            raise
        raise NotFound("There is no such agent in this team.") from None
    append(
        session,
        EventKind.API_KEY_CREATED,
        team_id=team_id,
        actor=actor,
        agent_id=agent_id,
        changes={"api_key_id": to_global(Prefix.API_KEY, key.id), "name": name, "role": role},
    )
    return key


async def revoke(session: AsyncSession, *, team_id: UUID, key_id: UUID, actor: Actor) -> ApiKey:
    """Takes effect with the commit: every statement asks whether its key is live, and open sockets are closed."""
    mine = (ApiKey.team_id == team_id) & (ApiKey.id == key_id)
    statement = update(ApiKey).where(mine, ApiKey.revoked_at.is_(None)).values(revoked_at=now()).returning(ApiKey)
    key = await session.scalar(statement)
    if key is None:
        if await session.scalar(select(ApiKey.id).where(mine)) is None:
            raise NotFound("There is no such API key in this team.")
        raise Conflict("This API key is already revoked.")
    append(
        session,
        EventKind.API_KEY_REVOKED,
        team_id=team_id,
        actor=actor,
        changes={"api_key_id": to_global(Prefix.API_KEY, key.id), "name": key.name},
    )
    return key


async def revoke_keys_of_agent(session: AsyncSession, *, team_id: UUID, agent_id: UUID, actor: Actor) -> None:
    """An agent that has left acts no more."""
    mine = (ApiKey.team_id == team_id) & (ApiKey.agent_id == agent_id) & ApiKey.revoked_at.is_(None)
    for key_id in (await session.scalars(select(ApiKey.id).where(mine).order_by(ApiKey.id))).all():
        await revoke(session, team_id=team_id, key_id=key_id, actor=actor)
