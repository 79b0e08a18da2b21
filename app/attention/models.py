"""What needs a person, and who did what about it."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from uuid import UUID

from sqlalchemy import CheckConstraint, ForeignKey, Index, LargeBinary, String, Text, func, text
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.orm import Mapped, mapped_column

from app.db.base import Base, Identified, team_key, team_link, text_enum

MAX_TITLE, MAX_DETAIL, MAX_OPTION, MAX_OPTIONS, MAX_ANSWER, MAX_PERSON = 200, 10_000, 100, 10, 10_000, 120


class AttentionKind(StrEnum):
    QUESTION = "question"
    CLARIFICATION = "clarification"
    APPROVAL = "approval"
    ESCALATION = "escalation"
    BUDGET_RAISE = "budget_raise"
    DEAD_LETTER = "dead_letter"
    FAILED_SUBTASK = "failed_subtask"
    COST_CLAIM = "cost_claim"


class AttentionState(StrEnum):
    OPEN = "open"
    ANSWERED = "answered"
    EXPIRED = "expired"
    WITHDRAWN = "withdrawn"


class AttentionAction(StrEnum):
    OPENED = "opened"
    ASSIGNED = "assigned"
    ANSWERED = "answered"
    EXPIRED = "expired"
    WITHDRAWN = "withdrawn"


class AttentionItem(Identified, Base):
    """Closed once: answered by a person, expired at its deadline, or withdrawn because it is of no use any more.

    An item that `holds_task` keeps its task from being claimed until it is closed. `question_hash` is of what was
    asked, to know it again. `agent_id` is the agent that asks, if one does.
    """

    __tablename__ = "attention_item"
    __table_args__ = (
        team_key(),
        team_link("agent_id", "agent"),
        team_link("task_id", "task"),
        team_link("dead_letter_id", "dead_letter"),
        team_link("conversation_id", "conversation"),
        team_link("collaboration_id", "collaboration"),
        team_link("stage_id", "collaboration_stage"),
        team_link("budget_id", "budget_account"),
        team_link("consultation_id", "consultation"),
        CheckConstraint("(state = 'open') = (closed_at is null)", name="closed"),
        CheckConstraint("state = 'open' or closed_by is not null", name="closed_by"),
        CheckConstraint("not holds_task or task_id is not null", name="held_task"),
        CheckConstraint("default_answer is null or deadline is not null", name="default"),
        Index("ix_attention_item_team", "team_id", "state", "id"),
        Index("ix_attention_item_letter", "dead_letter_id", postgresql_where=text("dead_letter_id is not null")),
        Index("ix_attention_item_task", "task_id", "id", postgresql_where=text("task_id is not null")),
        Index(
            "ix_attention_item_conversation",
            "conversation_id",
            "id",
            postgresql_where=text("conversation_id is not null"),
        ),
        Index("ix_attention_item_stage", "stage_id", postgresql_where=text("stage_id is not null")),
        Index(
            "ix_attention_item_collaboration",
            "collaboration_id",
            "id",
            postgresql_where=text("collaboration_id is not null"),
        ),
        Index(
            "ix_attention_item_consultation",
            "consultation_id",
            "id",
            postgresql_where=text("consultation_id is not null"),
        ),
        Index("ix_attention_item_budget", "budget_id", postgresql_where=text("budget_id is not null")),
        Index(
            "uq_attention_item_question",
            "task_id",
            "question_hash",
            unique=True,
            postgresql_where=text("question_hash is not null and state <> 'withdrawn'"),
        ),
    )

    team_id: Mapped[UUID] = mapped_column(ForeignKey("team.id"))
    kind: Mapped[AttentionKind] = mapped_column(text_enum(AttentionKind))
    state: Mapped[AttentionState] = mapped_column(
        text_enum(AttentionState), server_default=AttentionState.OPEN.value, default=AttentionState.OPEN
    )
    title: Mapped[str] = mapped_column(String(MAX_TITLE))
    detail: Mapped[str] = mapped_column(Text, server_default="")
    options: Mapped[list[str]] = mapped_column(ARRAY(Text), server_default="{}")
    opened_by: Mapped[str] = mapped_column(String(MAX_PERSON))
    assignee: Mapped[str | None] = mapped_column(String(MAX_PERSON))
    deadline: Mapped[datetime | None]
    default_answer: Mapped[str | None] = mapped_column(Text)
    agent_id: Mapped[UUID | None]
    task_id: Mapped[UUID | None]
    dead_letter_id: Mapped[UUID | None]
    conversation_id: Mapped[UUID | None]
    collaboration_id: Mapped[UUID | None]
    stage_id: Mapped[UUID | None]
    budget_id: Mapped[UUID | None]
    consultation_id: Mapped[UUID | None]
    holds_task: Mapped[bool] = mapped_column(server_default="false", default=False)
    question_hash: Mapped[bytes | None] = mapped_column(LargeBinary)
    answer: Mapped[str | None] = mapped_column(Text)
    option: Mapped[str | None] = mapped_column(String(MAX_OPTION))
    closed_by: Mapped[str | None] = mapped_column(String(MAX_PERSON))
    created_at: Mapped[datetime] = mapped_column(server_default=func.clock_timestamp())
    closed_at: Mapped[datetime | None]


class AttentionStep(Identified, Base):
    """Who did what about an item, when: its audit trail, which nothing removes."""

    __tablename__ = "attention_step"
    __table_args__ = (
        team_key(),
        team_link("item_id", "attention_item"),
        Index("ix_attention_step_item", "item_id", "id"),
    )

    team_id: Mapped[UUID]
    item_id: Mapped[UUID]
    action: Mapped[AttentionAction] = mapped_column(text_enum(AttentionAction))
    actor: Mapped[str] = mapped_column(String(MAX_PERSON))
    note: Mapped[str] = mapped_column(Text, server_default="")
    at: Mapped[datetime] = mapped_column(server_default=func.clock_timestamp())
