"""An agent's inbox: what it holds, and the agent's word that it has read it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, Select, func, select, tuple_, update
from sqlalchemy.ext.asyncio import AsyncSession

from app.agents import service as agents
from app.agents.models import Agent
from app.errors import InvalidInput, NotFound
from app.events.cursor import EventCursor
from app.events.kinds import EventKind
from app.events.log import Actor, append
from app.messages.models import AgentMessage, InboxEntry
from app.messages.unread import counts_as_unread

MOST_IDS = 100


@dataclass(frozen=True, slots=True)
class Acknowledged:
    """How many this acknowledgement marked as read, and how many are still unread."""

    count: int
    unread: int


@dataclass(frozen=True, slots=True)
class Mail:
    """A message in an inbox, and who sent it."""

    entry: InboxEntry
    message: AgentMessage
    sender: Agent


async def acknowledge(
    session: AsyncSession,
    *,
    team_id: UUID,
    agent_id: UUID,
    actor: Actor,
    through: EventCursor | None = None,
    message_ids: Collection[UUID] | None = None,
) -> Acknowledged:
    """Everything up to a place in the log, or single messages; raises NotFound when the agent has not got one of them.

    What is read already keeps its time. The agent's row is held: of two that acknowledge at once, the second finds
    what the first has left.
    """
    if (through is None) == (message_ids is None):
        raise InvalidInput.of("through", "give either through or messageIds")
    await agents.lock(session, team_id, agent_id)
    mine = (InboxEntry.team_id == team_id) & (InboxEntry.agent_id == agent_id)
    wanted = _through(through) if through else await _named(session, mine, message_ids or ())
    return await _mark(session, team_id, agent_id, wanted, actor)


async def mark_read(
    session: AsyncSession, *, team_id: UUID, agent_id: UUID, message_ids: Collection[UUID], actor: Actor
) -> None:
    """Of these messages those that are in the inbox still. The agent's row is held by the caller."""
    await _mark(session, team_id, agent_id, InboxEntry.message_id.in_(message_ids), actor)


async def _mark(
    session: AsyncSession, team_id: UUID, agent_id: UUID, wanted: ColumnElement[bool], actor: Actor
) -> Acknowledged:
    mine = (InboxEntry.team_id == team_id) & (InboxEntry.agent_id == agent_id)
    read = update(InboxEntry).where(mine, InboxEntry.read_at.is_(None), wanted).values(read_at=func.clock_timestamp())
    marked = len((await session.scalars(read.returning(InboxEntry.id))).all())
    unread = await count_unread(session, team_id=team_id, agent_id=agent_id)
    if marked:
        changes = {"acknowledged": marked, "unreadCount": unread}
        append(session, EventKind.INBOX_ACKNOWLEDGED, team_id=team_id, actor=actor, agent_id=agent_id, changes=changes)
    return Acknowledged(marked, unread)


async def count_unread(session: AsyncSession, *, team_id: UUID, agent_id: UUID, without: Collection[UUID] = ()) -> int:
    mine = (InboxEntry.team_id == team_id) & (InboxEntry.agent_id == agent_id) & counts_as_unread()
    if without:
        mine &= InboxEntry.message_id.not_in(without)
    return await session.scalar(select(func.count()).select_from(InboxEntry).where(mine)) or 0


def _through(place: EventCursor) -> ColumnElement[bool]:
    return tuple_(InboxEntry.position, InboxEntry.id) <= tuple_(place.position, place.event_id)


async def _named(session: AsyncSession, mine: ColumnElement[bool], ids: Collection[UUID]) -> ColumnElement[bool]:
    if not 1 <= len(ids) <= MOST_IDS:
        raise InvalidInput.of("messageIds", f"must be 1 to {MOST_IDS} messages")
    named = InboxEntry.message_id.in_(set(ids))
    found = await session.scalar(select(func.count()).select_from(InboxEntry).where(mine, named))
    if found != len(set(ids)):
        raise NotFound("One of these messages is not in the agent's inbox. Nothing was acknowledged.")
    return named


async def read(
    session: AsyncSession,
    *,
    team_id: UUID,
    agent_id: UUID,
    unread_only: bool,
    most: int,
    without: Collection[UUID] = (),
) -> list[Mail]:
    """Unread ones first, the newest first; without what has expired unread where only unread ones are wanted."""
    mine: Any = (InboxEntry.team_id == team_id) & (InboxEntry.agent_id == agent_id)
    if without:
        mine &= InboxEntry.message_id.not_in(without)
    return [Mail(*row) for row in await session.execute(page(mine & counts_as_unread() if unread_only else mine, most))]


def page(wanted: ColumnElement[bool], most: int) -> Select[InboxEntry, AgentMessage, Agent]:
    """In the order of an index, so that a long inbox is not sorted."""
    return (
        select(InboxEntry, AgentMessage, Agent)
        .join(AgentMessage, AgentMessage.id == InboxEntry.message_id)
        .join(Agent, Agent.id == InboxEntry.sender_id)
        .where(wanted)
        .order_by(InboxEntry.unread.desc(), InboxEntry.received_at.desc(), InboxEntry.id.desc())
        .limit(most)
    )
