"""Handoffs of conversations, what was decided after each reply, and the values of context variables over time."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Any
from uuid import UUID

from sqlalchemy import CheckConstraint, ForeignKey, Index, String, UniqueConstraint, func, text
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.orm import Mapped, mapped_column

from app.db.base import Base, Identified, team_key, team_link, text_enum
from app.handoffs.decision import DecidedBy
from app.handoffs.variables import VariableSource
from app.teams.models import AfterWork

MAX_REASON = 500
MAX_SUMMARY = 4_000


class ReturnPolicy(StrEnum):
    """To whom a conversation comes back when a handoff ends."""

    CALLER = "caller"
    ORCHESTRATOR = "orchestrator"
    HUMAN = "human"
    NONE = "none"


class HandoffOutcome(StrEnum):
    """How a handoff came back."""

    RETURNED = "returned"
    TIMED_OUT = "timed_out"
    FAILED = "failed"
    AGENT_UNAVAILABLE = "agent_unavailable"
    CANCELLED = "cancelled"


class ConversationHandoff(Identified, Base):
    """One passing of the primary role. It ends once, with an outcome; with the policy NONE it need not."""

    __tablename__ = "conversation_handoff"
    __table_args__ = (
        team_key(),
        team_link("conversation_id", "conversation"),
        team_link("from_agent_id", "agent"),
        team_link("to_agent_id", "agent"),
        team_link("returned_to_id", "agent"),
        team_link("rule_id", "handoff_rule"),
        team_link("message_id", "message"),
        UniqueConstraint("conversation_id", "number"),
        CheckConstraint("from_agent_id <> to_agent_id", name="two_agents"),
        CheckConstraint("(outcome is null) = (ended_at is null)", name="ended"),
        CheckConstraint("(return_policy = 'none') = (due_at is null)", name="due"),
        Index(
            "ix_conversation_handoff_open",
            "team_id",
            "to_agent_id",
            postgresql_where=text("ended_at is null and return_policy <> 'none'"),
        ),
    )

    team_id: Mapped[UUID] = mapped_column(ForeignKey("team.id"))
    conversation_id: Mapped[UUID]
    number: Mapped[int]  # of the message that announces it
    from_agent_id: Mapped[UUID]
    to_agent_id: Mapped[UUID]
    reason: Mapped[str] = mapped_column(String(MAX_REASON))
    summary: Mapped[str] = mapped_column(String(MAX_SUMMARY), server_default="")
    return_policy: Mapped[ReturnPolicy] = mapped_column(text_enum(ReturnPolicy))
    rule_id: Mapped[UUID | None]
    message_id: Mapped[UUID | None]
    requested_by: Mapped[str] = mapped_column(String(120))
    due_at: Mapped[datetime | None]
    outcome: Mapped[HandoffOutcome | None] = mapped_column(text_enum(HandoffOutcome))
    outcome_reason: Mapped[str | None] = mapped_column(String(MAX_REASON))
    returned_to_id: Mapped[UUID | None]
    created_at: Mapped[datetime] = mapped_column(server_default=func.clock_timestamp())
    ended_at: Mapped[datetime | None]


class StepDecision(Identified, Base):
    """What was decided after a reply, and why. `tried` has every rule with its clauses."""

    __tablename__ = "step_decision"
    __table_args__ = (
        team_key(),
        team_link("conversation_id", "conversation"),
        team_link("message_id", "message"),
        team_link("rule_id", "handoff_rule"),
        team_link("to_agent_id", "agent"),
        UniqueConstraint("message_id"),
        CheckConstraint("(decided_by = 'rule') = (rule_id is not null)", name="rule"),
        CheckConstraint("(to_agent_id is null) = (after_work is not null)", name="what_follows"),
        Index("ix_step_decision_conversation", "conversation_id", "id"),
    )

    team_id: Mapped[UUID] = mapped_column(ForeignKey("team.id"))
    conversation_id: Mapped[UUID]
    message_id: Mapped[UUID]
    decided_by: Mapped[DecidedBy] = mapped_column(text_enum(DecidedBy))
    reason: Mapped[str] = mapped_column(String(2_000))
    rule_id: Mapped[UUID | None]
    to_agent_id: Mapped[UUID | None]
    after_work: Mapped[AfterWork | None] = mapped_column(text_enum(AfterWork))
    judge: Mapped[str] = mapped_column(String(200))
    tried: Mapped[list[Any]]
    created_at: Mapped[datetime] = mapped_column(server_default=func.clock_timestamp())


class ContextVariable(Identified, Base):
    """One value that a variable took in a conversation; the newest of a name and source counts."""

    __tablename__ = "context_variable"
    __table_args__ = (
        team_key(),
        team_link("conversation_id", "conversation"),
        team_link("message_id", "message"),
        Index("ix_context_variable_conversation", "conversation_id", "name", "id"),
    )

    team_id: Mapped[UUID] = mapped_column(ForeignKey("team.id"))
    conversation_id: Mapped[UUID]
    name: Mapped[str] = mapped_column(String(63))
    value: Mapped[Any] = mapped_column(JSONB)
    source: Mapped[VariableSource] = mapped_column(text_enum(VariableSource))
    message_id: Mapped[UUID | None]
    set_by: Mapped[str] = mapped_column(String(120))
    created_at: Mapped[datetime] = mapped_column(server_default=func.clock_timestamp())
