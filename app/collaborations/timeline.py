"""Lays a session out in lanes, one for each agent, ready to be drawn. Pure but for the rows that it is given."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from uuid import UUID

from app.collaborations.models import CollaborationStage, ParticipantRole, StageKind
from app.collaborations.record import Record
from app.tasks.models import Task


class ArrowKind(StrEnum):
    ASSIGNED = "assigned"
    DELEGATED = "delegated"
    ANSWERED = "answered"


@dataclass(frozen=True, slots=True)
class Span:
    """Work of one agent from when it was taken up; without an end while it goes on."""

    task_id: UUID
    stage_id: UUID | None
    name: str
    kind: StageKind | None
    round: int | None
    status: str
    ordered_at: datetime
    started_at: datetime | None
    ended_at: datetime | None
    cost: Decimal
    tokens_used: int
    tool_calls: int


@dataclass(frozen=True, slots=True)
class Lane:
    """`role` is None for whoever was only delegated something."""

    agent_id: UUID
    slug: str
    name: str
    role: ParticipantRole | None
    spans: list[Span]
    cost: Decimal


@dataclass(frozen=True, slots=True)
class Arrow:
    """From one agent's lane to another's, or to its own; without a start when Parley itself asked."""

    kind: ArrowKind
    at: datetime
    from_agent_id: UUID | None
    to_agent_id: UUID | None
    task_id: UUID


@dataclass(frozen=True, slots=True)
class Timeline:
    lanes: list[Lane]
    arrows: list[Arrow]


def timeline_of(record: Record) -> Timeline:
    """Lanes in the order of the seats, then of those who were only delegated something; arrows by time."""
    order = [*(seat.agent_id for seat in record.seats), *(task.assignee_id for task in record.tasks)]
    lanes = [_lane(record, agent_id) for agent_id in dict.fromkeys(order)]
    arrows = [arrow for task in record.tasks for arrow in _arrows(record, task)]
    return Timeline(lanes, sorted(arrows, key=lambda arrow: (arrow.at, arrow.task_id)))


def _lane(record: Record, agent_id: UUID) -> Lane:
    mine = [task for task in record.tasks if task.assignee_id == agent_id]
    agent = record.agents[agent_id]
    return Lane(
        agent_id=agent_id,
        slug=agent.slug,
        name=agent.name,
        role=next((seat.role for seat in record.seats if seat.agent_id == agent_id), None),
        spans=[_span(task, record.stage_of(task), len(record.calls.get(task.id, ()))) for task in mine],
        cost=sum((one.cost for one in mine), Decimal(0)),
    )


def _span(task: Task, stage: CollaborationStage | None, tool_calls: int) -> Span:
    return Span(
        task_id=task.id,
        stage_id=stage.id if stage else None,
        name=stage.name if stage else task.title,
        kind=stage.kind if stage else None,
        round=stage.round if stage else None,
        status=task.status.name,
        ordered_at=task.created_at,
        started_at=task.started_at,
        ended_at=task.finished_at,
        cost=task.cost,
        tokens_used=task.tokens_used,
        tool_calls=tool_calls,
    )


def _arrows(record: Record, task: Task) -> list[Arrow]:
    lead = record.session.lead_id if record.session else None
    asker = task.creator_id or lead
    kind = ArrowKind.DELEGATED if task.creator_id else ArrowKind.ASSIGNED
    found = [Arrow(kind, task.created_at, asker, task.assignee_id, task.id)]
    if task.finished_at is not None:
        found.append(Arrow(ArrowKind.ANSWERED, task.finished_at, task.assignee_id, asker, task.id))
    return found
