"""What needs a person, as the graph shows it. An agent's key sees what its agent asked."""

from __future__ import annotations

from typing import Any

import strawberry
from sqlalchemy import ColumnElement, and_, or_, select

from app.attention import models
from app.ids import Prefix
from graphql_schema.node import Node
from graphql_schema.planner.connections import many, publish_connection
from graphql_schema.planner.mapping import Caller, column, mapped, one
from graphql_schema.scalars import DateTime

_HERE = "graphql_schema.attention.types"
_TASKS = "graphql_schema.tasks.types"


def _readable(row: Any) -> ColumnElement[bool]:
    own = or_(Caller.agent_id.is_(None), row.agent_id == Caller.agent_id)
    return and_(row.team_id == Caller.team_id, own)


def _readable_step(row: Any) -> ColumnElement[bool]:
    item = models.AttentionItem.__table__.alias()
    asked = select(item.c.id).where(item.c.id == row.item_id, item.c.agent_id == Caller.agent_id)
    own = or_(Caller.agent_id.is_(None), asked.correlate_except(item).exists())
    return and_(row.team_id == Caller.team_id, own)


@mapped(models.AttentionItem.__table__, prefix=Prefix.ATTENTION, scope=_readable)
@strawberry.type(description="Something that needs, or needed, a person. It is closed once.")
class AttentionItem(Node):
    kind: models.AttentionKind = column("Why a person is needed.", filter=True, group=True)
    status: models.AttentionState = column("Where it stands.", name="state", filter=True, group=True)
    title: str = column(f"What it is about, 1 to {models.MAX_TITLE} characters.", filter=True, order=True)
    detail: str = column("What helps to answer; may be empty. Of a long question all of it.", filter=True)
    options: list[str] = column(
        f"The answers to choose from, at most {models.MAX_OPTIONS}; none: it is answered in free words."
    )
    opened_by: str = column("Who asked: an agent, the name of a key, or `parley`.", filter=True, group=True)
    assignee: str | None = column("The person who is to answer; null: whoever comes first.", filter=True, group=True)
    deadline: DateTime | None = column(
        "When it closes by itself; null: never.", filter=True, order=True, group=True, aggregate=True
    )
    default_answer: str | None = column("What counts when the deadline passes; null: nothing is said then.")
    holds_task: bool = column("Whether its task waits for the answer, without a worker.", filter=True, group=True)
    option: str | None = column("The option that was chosen; null: none.", filter=True, group=True)
    answer: str | None = column(f"What was said, at most {models.MAX_ANSWER:,} characters; null: nothing.", filter=True)
    closed_by: str | None = column(
        "Who answered; `parley` for a deadline that passed. Null while open.", filter=True, group=True
    )
    created_at: DateTime = column("When it was opened.", filter=True, order=True, group=True, aggregate=True)
    closed_at: DateTime | None = column(
        "When it was answered, expired or withdrawn; null while open.", filter=True, order=True, aggregate=True
    )
    agent_id: strawberry.ID | None = column(
        "The agent that asked; null: none.", prefix=Prefix.AGENT, filter=True, group=True
    )
    task_id: strawberry.ID | None = column("The task that it is about; null: none.", prefix=Prefix.TASK, filter=True)
    dead_letter_id: strawberry.ID | None = column(
        "The dead letter that it is about; null: none.", prefix=Prefix.DEAD_LETTER, filter=True
    )
    conversation_id: strawberry.ID | None = column(
        "The conversation that it belongs to; null: none.", prefix=Prefix.CONVERSATION, filter=True
    )
    collaboration_id: strawberry.ID | None = column(
        "The session that it belongs to; null: none.", prefix=Prefix.COLLABORATION, filter=True
    )
    agent = one(
        "Agent", "graphql_schema.agents.types", "The agent that asked; null: none.", nullable=True,
        on=lambda item, agent: agent.id == item.agent_id,
    )  # fmt: skip
    task = one(
        "Task", _TASKS, "The task that it is about; null: none.", nullable=True,
        on=lambda item, task: task.id == item.task_id,
    )  # fmt: skip
    dead_letter = one(
        "DeadLetter", _TASKS, "The dead letter that it is about; null: none.", nullable=True,
        on=lambda item, letter: letter.id == item.dead_letter_id,
    )  # fmt: skip
    conversation = one(
        "Conversation", "graphql_schema.conversations.types", "The conversation that it belongs to; null: none.",
        nullable=True, on=lambda item, conversation: conversation.id == item.conversation_id,
    )  # fmt: skip
    collaboration = one(
        "CollaborationSession", "graphql_schema.collaborations.types", "The session that it belongs to; null: none.",
        nullable=True, on=lambda item, collaboration: collaboration.id == item.collaboration_id,
    )  # fmt: skip
    stage_id: strawberry.ID | None = column(
        "The failed stage of the session that it is about; null: none.", prefix=Prefix.STAGE, filter=True
    )
    stage = one(
        "CollaborationStage", "graphql_schema.collaborations.types",
        "The failed stage of the session that it is about; null: none.", nullable=True,
        on=lambda item, stage: stage.id == item.stage_id,
    )  # fmt: skip
    consultation_id: strawberry.ID | None = column(
        "The consultation that it is about; null: none.", prefix=Prefix.CONSULTATION, filter=True
    )
    consultation = one(
        "Consultation", "graphql_schema.consultations.types", "The consultation that it is about; null: none.",
        nullable=True, on=lambda item, consultation: consultation.id == item.consultation_id,
    )  # fmt: skip
    budget = one(
        "Budget", "graphql_schema.budgets.types", "The budget that is nearly used up; null: none.", nullable=True,
        on=lambda item, budget: budget.id == item.budget_id,
    )  # fmt: skip
    history = many(
        "AttentionStep", _HERE, "Who did what about it, the first step first. It is kept for good.",
        on=lambda item, step: step.item_id == item.id,
    )  # fmt: skip


@mapped(models.AttentionStep.__table__, prefix=Prefix.ATTENTION_STEP, scope=_readable_step)
@strawberry.type(description="What somebody did about something that needs a person.")
class AttentionStep(Node):
    action: models.AttentionAction = column("What was done.", filter=True, group=True)
    actor: str = column("Who did it: a person, an agent, the name of a key, or `parley`.", filter=True, group=True)
    note: str = column("What was said with it: to whom it was assigned, or the answer; may be empty.")
    at: DateTime = column("When.", filter=True, order=True, group=True, aggregate=True)
    item = one("AttentionItem", _HERE, "What it was about.", on=lambda step, item: item.id == step.item_id)


publish_connection(AttentionItem)
publish_connection(AttentionStep)
