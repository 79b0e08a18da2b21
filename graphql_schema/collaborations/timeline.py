"""A session's timeline, as the graph shows it."""

from __future__ import annotations

from uuid import UUID

import strawberry

from app.collaborations import timeline as laid_out
from app.collaborations.models import ParticipantRole, StageKind
from app.ids import Prefix, to_global
from app.tasks.models import TaskStatus
from graphql_schema.scalars import DateTime, Usd


@strawberry.type(description="Work of one agent, to be drawn as a bar in its lane.")
class TimelineSpan:
    task_id: strawberry.ID = strawberry.field(description="The task.")
    stage_id: strawberry.ID | None = strawberry.field(description="The stage; null for what was delegated from one.")
    name: str = strawberry.field(description="The stage's name, or the task's title; up to 200 characters.")
    kind: StageKind | None = strawberry.field(description="What the stage is; null for what was delegated from one.")
    round: int | None = strawberry.field(description="The stage's round, from 1; null for what was delegated from one.")
    status: TaskStatus = strawberry.field(description="Where the task stands.")
    created_at: DateTime = strawberry.field(description="When it was ordered.")
    started_at: DateTime | None = strawberry.field(description="When it was taken up; null before.")
    ended_at: DateTime | None = strawberry.field(description="When it ended; null before.")
    cost: Usd = strawberry.field(description="What it cost, without what was delegated from it.")
    tokens_used: int = strawberry.field(description="Tokens that it used.")
    tool_calls: int = strawberry.field(description="How many tool calls it made; of all lanes at most 10,000.")


@strawberry.type(description="All that one agent did in a session.")
class TimelineLane:
    agent_id: strawberry.ID = strawberry.field(description="Whose lane.")
    agent_slug: str = strawberry.field(description="That agent's slug.")
    agent_name: str = strawberry.field(description="That agent's name to show.")
    role: ParticipantRole | None = strawberry.field(
        description="What the agent is in the session for; null for whoever was only delegated something, or has its "
        "seat no longer."
    )
    cost: Usd = strawberry.field(description="The sum of its spans.")
    spans: list[TimelineSpan] = strawberry.field(description="First one first; of all lanes at most 2,000.")


@strawberry.type(description="Work that passes from one lane to another.")
class TimelineArrow:
    kind: laid_out.ArrowKind = strawberry.field(description="What passes.")
    at: DateTime = strawberry.field(description="When.")
    from_agent_id: strawberry.ID | None = strawberry.field(description="Whose lane it leaves; null: Parley asked.")
    to_agent_id: strawberry.ID | None = strawberry.field(description="Whose lane it reaches; null: Parley asked.")
    task_id: strawberry.ID = strawberry.field(description="The task that passes.")


@strawberry.type(description="A session in lanes, ready to be drawn.")
class CollaborationTimeline:
    lanes: list[TimelineLane] = strawberry.field(description="One for each agent, in the order of their seats.")
    arrows: list[TimelineArrow] = strawberry.field(description="By time; at most 4,000.")


def shown(found: laid_out.Timeline) -> CollaborationTimeline:
    return CollaborationTimeline(
        lanes=[
            TimelineLane(
                agent_id=_agent(lane.agent_id),
                agent_slug=lane.slug,
                agent_name=lane.name,
                role=lane.role,
                cost=Usd(lane.cost),
                spans=[_span(one) for one in lane.spans],
            )
            for lane in found.lanes
        ],
        arrows=[
            TimelineArrow(
                kind=arrow.kind,
                at=DateTime(arrow.at),
                from_agent_id=_agent(arrow.from_agent_id) if arrow.from_agent_id else None,
                to_agent_id=_agent(arrow.to_agent_id) if arrow.to_agent_id else None,
                task_id=strawberry.ID(to_global(Prefix.TASK, arrow.task_id)),
            )
            for arrow in found.arrows
        ],
    )


def _agent(agent_id: UUID) -> strawberry.ID:
    return strawberry.ID(to_global(Prefix.AGENT, agent_id))


def _span(span: laid_out.Span) -> TimelineSpan:
    return TimelineSpan(
        task_id=strawberry.ID(to_global(Prefix.TASK, span.task_id)),
        stage_id=strawberry.ID(to_global(Prefix.STAGE, span.stage_id)) if span.stage_id else None,
        name=span.name,
        kind=span.kind,
        round=span.round,
        status=TaskStatus[span.status],
        created_at=DateTime(span.ordered_at),
        started_at=DateTime(span.started_at) if span.started_at else None,
        ended_at=DateTime(span.ended_at) if span.ended_at else None,
        cost=Usd(span.cost),
        tokens_used=span.tokens_used,
        tool_calls=span.tool_calls,
    )
