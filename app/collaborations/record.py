"""Reads all that is known of a session, or of one task with what came of it, for those who tell it as a whole."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field, replace
from datetime import datetime
from uuid import UUID

from sqlalchemy import ColumnElement, column, select, table
from sqlalchemy.ext.asyncio import AsyncSession

from app.agents.models import Agent
from app.collaborations.models import Collaboration, CollaborationParticipant, CollaborationStage
from app.errors import NotFound
from app.ids import Prefix, to_global
from app.tasks.models import Task, TaskDependency, ToolCall

MOST_TASKS = 2_000
MOST_CALLS = 10_000
MOST_MESSAGES = 1_000
# Messages stand above sessions, so their table is read by its name.
_MESSAGE = table(
    "agent_message", *map(column, ("id", "collaboration_id", "sender_id", "type", "body", "sent_at", "task_id"))
)


@dataclass(frozen=True, slots=True)
class Said:
    """A message in the session's channel."""

    id: UUID
    sender_id: UUID
    type: str
    body: str
    at: datetime
    task_id: UUID | None


@dataclass(frozen=True, slots=True)
class Record:
    """`tasks` are those of the stages and all that was delegated from them, first ones first. `hidden` are the ids of
    those that were left out because the reader may not see them."""

    session: Collaboration | None
    tasks: list[Task]
    agents: dict[UUID, Agent]
    seats: list[CollaborationParticipant] = field(default_factory=list)
    stages: list[CollaborationStage] = field(default_factory=list)
    calls: dict[UUID, list[ToolCall]] = field(default_factory=dict)
    needs: dict[UUID, list[UUID]] = field(default_factory=dict)
    messages: list[Said] = field(default_factory=list)
    hidden: frozenset[UUID] = frozenset()

    def task_name(self, task_id: UUID | None) -> str | None:
        """The task's global id; None without one, and for one that the reader may not see."""
        return None if task_id is None or task_id in self.hidden else to_global(Prefix.TASK, task_id)

    def stage_of(self, task: Task) -> CollaborationStage | None:
        return next((stage for stage in self.stages if stage.task_id == task.id), None)

    def role_of(self, agent_id: UUID) -> str:
        """What the agent is there for; one that only was delegated something does work."""
        return next((seat.role.value for seat in self.seats if seat.agent_id == agent_id), "worker")

    def cause_of(self, task: Task) -> ToolCall | None:
        """The call that delegated it."""
        made = (call for calls in self.calls.values() for call in calls)
        return next((call for call in made if call.created_task_id == task.id), None)


def narrowed(record: Record, *, tasks: Collection[UUID], messages: Collection[UUID]) -> Record:
    """The record without the tasks and messages that a reader may not see, and without links to them."""
    kept = [task for task in record.tasks if task.id in tasks]
    lead_id = record.session.lead_id if record.session else None
    agents = {lead_id, *(task.assignee_id for task in kept), *(seat.agent_id for seat in record.seats)}
    agents |= {stage.agent_id for stage in record.stages}
    return replace(
        record,
        tasks=kept,
        agents={agent_id: agent for agent_id, agent in record.agents.items() if agent_id in agents},
        calls={task_id: calls for task_id, calls in record.calls.items() if task_id in tasks},
        needs={task_id: [need for need in needs if need in tasks] for task_id, needs in record.needs.items()},
        messages=[message for message in record.messages if message.id in messages],
        hidden=frozenset(task.id for task in record.tasks) - frozenset(tasks),
    )


async def read_session(session: AsyncSession, *, team_id: UUID, collaboration_id: UUID) -> Record:
    """Raises NotFound. Of a very large session the first 2,000 tasks, 10,000 tool calls and 1,000 messages."""
    mine = select(Collaboration).where(Collaboration.team_id == team_id, Collaboration.id == collaboration_id)
    row = await session.scalar(mine)
    if row is None:
        raise NotFound("There is no such collaboration session in this team.")
    seat, stage = CollaborationParticipant, CollaborationStage
    seats = await session.scalars(select(seat).where(seat.collaboration_id == row.id).order_by(seat.slot))
    stages = await session.scalars(select(stage).where(stage.collaboration_id == row.id).order_by(stage.position))
    found = await _whole(
        session, team_id, Task.collaboration_id == row.id, row=row, seats=list(seats), stages=list(stages)
    )
    found.messages.extend(await _messages(session, row.id))
    return found


async def _messages(session: AsyncSession, collaboration_id: UUID) -> list[Said]:
    one = _MESSAGE.c
    mine = select(one.id, one.sender_id, one.type, one.body, one.sent_at, one.task_id).where(
        one.collaboration_id == collaboration_id
    )
    return [Said(*row) for row in await session.execute(mine.order_by(one.id).limit(MOST_MESSAGES))]


async def read_task(session: AsyncSession, *, team_id: UUID, task_id: UUID) -> Record:
    """One agent's run with what it delegated; raises NotFound."""
    known = await session.scalar(select(Task.id).where(Task.team_id == team_id, Task.id == task_id))
    if known is None:
        raise NotFound("There is no such task in this team.")
    above = (Task.id == task_id) | (Task.parent_id == task_id) | (Task.grandparent_id == task_id)
    return await _whole(session, team_id, above | (Task.root_id == task_id))


async def _whole(
    session: AsyncSession,
    team_id: UUID,
    which: ColumnElement[bool],
    *,
    row: Collaboration | None = None,
    seats: list[CollaborationParticipant] | None = None,
    stages: list[CollaborationStage] | None = None,
) -> Record:
    found = await session.scalars(
        select(Task).where(Task.team_id == team_id, which).order_by(Task.id).limit(MOST_TASKS)
    )
    tasks, seats, stages = list(found), seats or [], stages or []
    ids = [task.id for task in tasks]
    calls: dict[UUID, list[ToolCall]] = {}
    made = select(ToolCall).where(ToolCall.task_id.in_(ids)).order_by(ToolCall.id).limit(MOST_CALLS)
    for call in await session.scalars(made):
        calls.setdefault(call.task_id, []).append(call)
    needs: dict[UUID, list[UUID]] = {}
    edges = select(TaskDependency.task_id, TaskDependency.needs_id).where(TaskDependency.task_id.in_(ids))
    for task_id, needs_id in await session.execute(edges):
        needs.setdefault(task_id, []).append(needs_id)
    involved = {task.assignee_id for task in tasks} | {seat.agent_id for seat in seats}
    involved |= {stage.agent_id for stage in stages}
    involved |= {row.lead_id} if row and row.lead_id else set()
    agents = await session.scalars(select(Agent).where(Agent.team_id == team_id, Agent.id.in_(involved)))
    return Record(row, tasks, {agent.id: agent for agent in agents}, seats, stages, calls, needs)


def moment(at: datetime | None) -> str | None:
    return at.isoformat() if at else None


def agent_name(agent_id: UUID) -> str:
    return to_global(Prefix.AGENT, agent_id)
