"""Channels: how they are named, and who is in each at this moment."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from app.agents.models import Agent, AgentStatus
from app.collaborations.queries import members_of_open
from app.errors import InvalidInput, NotFound
from app.ids import Prefix, from_global, to_global
from app.messages.errors import ChannelClosed
from app.messages.models import ChannelKind
from app.tasks.models import Task

LONGEST = 120
_NAMED_BY = {ChannelKind.TASK: Prefix.TASK, ChannelKind.COLLABORATION: Prefix.COLLABORATION}


@dataclass(frozen=True, slots=True)
class Channel:
    """`subject_id`: the recipient, the task or the collaboration; none for the whole team."""

    kind: ChannelKind
    subject_id: UUID | None = None

    @property
    def name(self) -> str:
        if self.kind in _NAMED_BY and self.subject_id is not None:
            return f"{self.kind.value}:{to_global(_NAMED_BY[self.kind], self.subject_id)}"
        return self.kind.value


TEAM = Channel(ChannelKind.TEAM)


def direct(recipient_id: UUID) -> Channel:
    return Channel(ChannelKind.DIRECT, recipient_id)


def parse_channel(text: str, *, path: str = "channel") -> Channel:
    """`team`, `task:{id}` or `collab:{id}`; raises InvalidInput. A direct message names its recipient instead."""
    word, _, subject = text.strip()[:LONGEST].partition(":")
    if word == ChannelKind.TEAM and not subject:
        return TEAM
    for kind, prefix in _NAMED_BY.items():
        if word == kind:
            return Channel(kind, from_global(prefix, subject, path=path))
    raise InvalidInput.of(path, "must be team, task:{id of a task} or collab:{id of a collaboration session}")


async def members_of(session: AsyncSession, team_id: UUID, channel: Channel) -> set[UUID]:
    """All who may speak and are spoken to; raises NotFound or ChannelClosed."""
    return await _MEMBERS[channel.kind](session, team_id, channel.subject_id)


async def _of_team(session: AsyncSession, team_id: UUID, _: UUID | None) -> set[UUID]:
    """Those that take part now: to a paused agent one writes directly."""
    mine = select(Agent.id).where(Agent.team_id == team_id, Agent.status == AgentStatus.ACTIVE)
    return set(await session.scalars(mine))


async def _of_task(session: AsyncSession, team_id: UUID, task_id: UUID | None) -> set[UUID]:
    """Who gave it, who has it, and the same of every task above it."""
    task = await session.scalar(select(Task).where(Task.team_id == team_id, Task.id == task_id))
    if task is None:
        raise NotFound("There is no such task in this team.")
    path = {task.id, task.parent_id, task.grandparent_id, task.root_id} - {None}
    rows = await session.execute(select(Task.creator_id, Task.assignee_id).where(Task.id.in_(path)))
    return {agent for row in rows for agent in row if agent is not None}


async def _of_collaboration(session: AsyncSession, team_id: UUID, collaboration_id: UUID | None) -> set[UUID]:
    """Who takes part, while the session is open."""
    members = await members_of_open(session, team_id=team_id, collaboration_id=collaboration_id)
    if not members:
        raise ChannelClosed("There is no such collaboration session, or it has ended: its channel takes no messages.")
    return members


_MEMBERS: dict[ChannelKind, Callable[[AsyncSession, UUID, UUID | None], Awaitable[set[UUID]]]] = {
    ChannelKind.TEAM: _of_team,
    ChannelKind.TASK: _of_task,
    ChannelKind.COLLABORATION: _of_collaboration,
}
