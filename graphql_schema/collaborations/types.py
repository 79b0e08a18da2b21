"""Collaboration sessions, as the graph shows them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID

import strawberry
from sqlalchemy import ColumnElement, func, select
from sqlalchemy.ext.asyncio import AsyncSession

from app.auth.principal import Principal
from app.auth.roles import Permission
from app.collaborations import models
from app.collaborations.record import Record, narrowed, read_session
from app.collaborations.spec import MOST_PARTICIPANTS
from app.collaborations.timeline import timeline_of
from app.collaborations.trace import session_trace
from app.ids import Prefix
from app.messages.models import AgentMessage
from app.tasks.models import Task
from graphql_schema.collaborations.timeline import CollaborationTimeline, shown
from graphql_schema.context import Info
from graphql_schema.conversations.reach import readable_of_session, readable_session, readable_task
from graphql_schema.messages.reach import readable_message
from graphql_schema.node import Node
from graphql_schema.planner.connections import many, publish_connection
from graphql_schema.planner.mapping import caller_parameters, column, expression, listing, mapped, one, python
from graphql_schema.scalars import JSON, DateTime, Usd

_AGENTS = "graphql_schema.agents.types"
_TASKS = "graphql_schema.tasks.types"
_HERE = "graphql_schema.collaborations.types"


def _sum_of_tasks(name: str) -> Any:
    def build(row: Any) -> ColumnElement[Any]:
        task = Task.__table__.alias()
        total = select(func.coalesce(func.sum(task.c[name]), 0)).where(task.c.collaboration_id == row.id)
        return total.correlate_except(task).scalar_subquery()

    return build


async def _record(info: Info, key: str) -> Record:
    """All of the session that the caller may read, by the predicates of the fields `tasks` and `messages`."""
    principal = info.context.principal
    async with info.context.services.transaction() as session:
        record = await read_session(session, team_id=principal.team_id, collaboration_id=UUID(key))
        if principal.agent_id is None:
            return record
        tasks = await _readable_ids(session, principal, Task.__table__, readable_task, key)
        messages = await _readable_ids(session, principal, AgentMessage.__table__, readable_message, key)
    return narrowed(record, tasks=tasks, messages=messages)


async def _readable_ids(
    session: AsyncSession, principal: Principal, of: Any, readable: Callable[[Any], ColumnElement[bool]], key: str
) -> set[UUID]:
    row = of.alias()
    query = select(row.c.id).where(row.c.collaboration_id == UUID(key), readable(row.c))
    return set(await session.scalars(query, caller_parameters(principal)))


@mapped(models.Collaboration.__table__, prefix=Prefix.COLLABORATION, scope=readable_session)
@strawberry.type(
    description="Several agents work on one goal, in a pattern, within caps on time, cost and rounds. An agent's key "
    "reads one that is for a conversation where its agent takes part in the session or in the conversation."
)
class CollaborationSession(Node):
    pattern: models.CollaborationPattern = column("How they work together.", filter=True, group=True)
    template: models.CollaborationTemplate | None = column(
        "The template that lays its stages down; null: the pattern alone.", filter=True, group=True
    )
    team_template: str | None = column(
        "Slug of the team's template that it was started from; null: none.", filter=True, group=True
    )
    goal: str = column("What they are to reach, 1 to 20,000 characters.", filter=True)
    context: str = column("Background for all participants, up to 50,000 characters; may be empty.")
    status: models.CollaborationStatus = column("Where it stands.", filter=True, group=True)
    current_stage: str | None = column("Name of the stage that was started last; null once it has ended.")
    round: int = column("The round it is in, from 1.", filter=True, order=True, aggregate=True)
    stages_completed: int = column("How many stages were done.", filter=True, order=True, aggregate=True)
    max_duration_seconds: int = column("How long it may take in all, 1 to 86,400.", name="max_duration_s", filter=True)
    max_cost_usd: Usd = column("What it may cost in all.", name="max_cost", filter=True, aggregate=True)
    max_rounds: int = column("How many rounds it may take, 1 to 20.", filter=True)
    work_timeout_seconds: int | None = column(
        "How long one attempt at a piece of work may take; null: until the session ends, of a template 600.",
        name="work_timeout_s",
    )
    review_timeout_seconds: int | None = column(
        "How long one attempt at a review may take; null: until the session ends, of a template 300.",
        name="review_timeout_s",
    )
    on_failure: models.OnFailure = column("What happens when a stage fails.", filter=True, group=True)
    options: list[str] = column("What a CONSENSUS chooses among, 2 to 10; else none.")
    threshold: float = column("Share of the votes that makes a consensus, above 0.5 to 1.", filter=True)
    agreement: float | None = column(
        "Share of the votes for the leading option in the last round, 0 to 1; null until a CONSENSUS has ended.",
        filter=True, order=True, aggregate=True,
    )  # fmt: skip
    converged: bool | None = column(
        "Whether the threshold was reached; null until a CONSENSUS has ended.", filter=True, group=True, aggregate=True
    )
    result: str | None = column(
        "What it came to; null before its end. A session that ran out of rounds keeps its last work here.", filter=True
    )
    error_code: str | None = column(
        "Why it did not complete, for programs: STAGE_FAILED, ABORTED, ROUNDS_EXHAUSTED, COST_LIMIT, TIME_LIMIT or "
        "CANCELLED; null otherwise.", filter=True, group=True,
    )  # fmt: skip
    error: str | None = column(
        "Why it did not complete, for people; null otherwise.", name="error_message", filter=True
    )
    cost: Usd = expression("What its tasks have cost so far: the sum over all of them.", _sum_of_tasks("cost"))
    tokens_used: int = expression("Tokens that its tasks have used so far, in all.", _sum_of_tasks("tokens_used"))
    on_behalf_of: str = column("Who started it: the key's name, or the task's from which it was started.", filter=True)
    created_at: DateTime = column("When it was started.", filter=True, order=True, group=True, aggregate=True)
    deadline: DateTime = column("When its time is over.", filter=True, order=True)
    ended_at: DateTime | None = column(
        "When it ended; null before.", name="finished_at", filter=True, order=True, aggregate=True
    )
    lead_id: strawberry.ID | None = column(
        "The agent that leads it; null: none.", prefix=Prefix.AGENT, filter=True, group=True
    )
    lead = one(
        "Agent", _AGENTS, "The agent that leads it; null: none.", nullable=True,
        on=lambda session, agent: agent.id == session.lead_id,
    )  # fmt: skip
    conversation_id: strawberry.ID | None = column(
        "The conversation that it is for; null: none.", prefix=Prefix.CONVERSATION, filter=True, group=True
    )
    conversation = one(
        "Conversation", "graphql_schema.conversations.types", "The conversation that it is for; null: none. An agent's "
        "key sees it where its agent takes part.", nullable=True,
        on=lambda session, conversation: conversation.id == session.conversation_id,
    )  # fmt: skip
    participants = listing(
        "CollaborationParticipant", _HERE, f"Who takes part, in their order; at most {MOST_PARTICIPANTS}.",
        most=MOST_PARTICIPANTS, order="slot",
        on=lambda session, participant: participant.collaboration_id == session.id,
    )  # fmt: skip
    stages = many(
        "CollaborationStage", _HERE, "What was done, first one first, with what failed and was tried again.",
        on=lambda session, stage: stage.collaboration_id == session.id,
    )  # fmt: skip
    votes = many(
        "CollaborationVote", _HERE, "The votes of a CONSENSUS, round after round.",
        on=lambda session, vote: vote.collaboration_id == session.id,
    )  # fmt: skip
    tasks = many(
        "Task", _TASKS, "All its tasks, with those that were delegated from them.",
        on=lambda session, task: task.collaboration_id == session.id,
    )  # fmt: skip
    messages = many(
        "AgentMessage", "graphql_schema.messages.types",
        "What was said in its channel. An agent's key sees what its agent sent or received.",
        on=lambda session, message: message.collaboration_id == session.id,
    )  # fmt: skip
    budget = one(
        "Budget", "graphql_schema.budgets.types", "What it may cost, and what is left of that.",
        on=lambda session, budget: budget.id == session.budget_id,
    )  # fmt: skip
    events = many(
        "Event", "graphql_schema.events.types", "What happened in it, as far back as retention goes.",
        on=lambda session, event: event.collaboration_id == session.id, needs=Permission.READ_EVENTS,
    )  # fmt: skip

    @python(
        "The whole session as a MultiAgentSession document, by docs/multi-agent-session.schema.json: each stage as a "
        "call of the lead with a session of its own below. Texts are cut to 20,000 characters; at most 2,000 tasks, "
        "10,000 tool calls and 1,000 messages of its channel. An agent's key gets what it may read by `tasks` and "
        "`messages`.",
        requires=("id",), cost=200,
    )  # fmt: skip
    async def trace(self: Any, info: Info) -> JSON:
        return JSON(session_trace(await _record(info, self["$id"])))

    @python(
        "The session in lanes, one for each agent, ready to be drawn; at most 2,000 tasks. An agent's key gets those "
        "that it may read by `tasks`.",
        requires=("id",), cost=100,
    )  # fmt: skip
    async def timeline(self: Any, info: Info) -> CollaborationTimeline:
        return shown(timeline_of(await _record(info, self["$id"])))


@mapped(models.CollaborationParticipant.__table__, scope=readable_of_session)
@strawberry.type(description="A seat in a session, and who has it now.")
class CollaborationParticipant:
    position: int = expression("Its place among the seats, from 1; a pipeline goes by it.", lambda row: row.slot + 1)
    role: models.ParticipantRole = column("What it is there for.")
    stage: str | None = column("The name of its stage; null where it has none of its own.")
    instructions: str = column("What only this participant is told; may be empty.")
    status: models.ParticipantStatus = column("What it does now.")
    agent_id: strawberry.ID = column("Who has the seat.", prefix=Prefix.AGENT)
    agent = one("Agent", _AGENTS, "Who has the seat.", on=lambda seat, agent: agent.id == seat.agent_id)
    picked_because: str | None = column(
        "Why this agent of the group got the seat, as the session started; null unless a group was named."
    )
    group = one(
        "Group", "graphql_schema.groups.types", "The group that was named for the seat; null: an agent was.",
        nullable=True, on=lambda seat, group: group.id == seat.group_id,
    )  # fmt: skip


@mapped(models.CollaborationStage.__table__, prefix=Prefix.STAGE, scope=readable_of_session)
@strawberry.type(description="One step of a session: who did what, and what came of it.")
class CollaborationStage(Node):
    kind: models.StageKind = column("What it is.", filter=True, group=True)
    name: str = column("Its name, up to 120 characters.", filter=True, order=True, group=True)
    round: int = column("In which round, from 1.", filter=True, order=True, group=True)
    attempt: int = column("Which attempt at this stage, from 1 to 3.", filter=True, order=True)
    position: int = column("Its place among the session's stages, from 1.", filter=True, order=True)
    status: models.StageStatus = column("Where it stands.", filter=True, group=True)
    superseded: bool = column("Whether it failed and another attempt took its place.", filter=True, group=True)
    output: str = column("What was made: the result, or how far it came. Empty while nothing was.", filter=True)
    data: JSON | None = column("The output as data, such as a verdict or a vote; null without any.")
    error_code: str | None = column("Why it was not done, for programs; null otherwise.", filter=True, group=True)
    error: str | None = column("Why it was not done, for people; null otherwise.", name="error_message", filter=True)
    tokens_used: int = column(
        "Tokens that it used with the tasks below it, once it has ended.", filter=True, order=True, aggregate=True
    )
    cost: Usd = column("What it cost with the tasks below it, once it has ended.", filter=True, aggregate=True)
    duration_seconds: float = column(
        "From when its task was taken up to its end.", name="duration_s", filter=True, order=True, aggregate=True
    )
    created_at: DateTime = column("When it was ordered.", name="started_at", filter=True, order=True, aggregate=True)
    ended_at: DateTime | None = column("When it ended; null before.", filter=True, order=True, aggregate=True)
    agent_id: strawberry.ID = column("Who does it.", prefix=Prefix.AGENT, filter=True, group=True)
    agent = one("Agent", _AGENTS, "Who does it.", on=lambda stage, agent: agent.id == stage.agent_id)
    task = one(
        "Task", _TASKS, "The task in which it is done; null when its agent could not be given one.", nullable=True,
        on=lambda stage, task: task.id == stage.task_id,
    )  # fmt: skip
    collaboration = one(
        "CollaborationSession", _HERE, "Of which session.", on=lambda stage, one: one.id == stage.collaboration_id
    )


@mapped(models.CollaborationVote.__table__, prefix=Prefix.VOTE, scope=readable_of_session)
@strawberry.type(description="What one participant chose in one round, and why.")
class CollaborationVote(Node):
    round: int = column("In which round, from 1.", filter=True, order=True, group=True)
    choice: str = column("The option, up to 200 characters.", filter=True, order=True, group=True)
    reason: str = column("Why, up to 10,000 characters.", filter=True)
    created_at: DateTime = column("When it was counted.", filter=True, order=True)
    agent_id: strawberry.ID = column("Who voted.", prefix=Prefix.AGENT, filter=True, group=True)
    agent = one("Agent", _AGENTS, "Who voted.", on=lambda vote, agent: agent.id == vote.agent_id)
    stage = one(
        "CollaborationStage", _HERE, "The stage in which it was cast.", on=lambda vote, stage: stage.id == vote.stage_id
    )


publish_connection(CollaborationSession)
publish_connection(CollaborationStage, default_order="position")
publish_connection(CollaborationVote)
