"""Conversations, who takes part in them, their messages, and the answering of each message."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from typing import Any
from uuid import UUID

from sqlalchemy import (
    CheckConstraint,
    Double,
    ForeignKey,
    Index,
    SmallInteger,
    String,
    Text,
    UniqueConstraint,
    func,
    text,
)
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.orm import Mapped, mapped_column

from app.budgets.models import USD
from app.db.base import Base, Identified, Timestamped, team_key, team_link, text_enum
from app.routing.select import Strategy

MAX_USER_ID = 200  # as long as the subject of a profile


class ConversationStatus(StrEnum):
    OPEN = "open"
    CLOSED = "closed"


class ParticipantRole(StrEnum):
    PRIMARY = "primary"
    INVITED = "invited"
    HANDOFF_SOURCE = "handoff_source"


class MessageAuthor(StrEnum):
    USER = "user"
    AGENT = "agent"
    SYSTEM = "system"


class ReplyStatus(StrEnum):
    """Pending: its turn has not come. At most one reply of a conversation runs."""

    PENDING = "pending"
    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"


UNFINISHED = (ReplyStatus.PENDING, ReplyStatus.RUNNING)


class ContributionStatus(StrEnum):
    WAITING = "waiting"
    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"
    TIMED_OUT = "timed_out"
    CANCELLED = "cancelled"


class ContributionUse(StrEnum):
    """What became of one agent's reply in the answer."""

    ANSWER = "answer"
    MERGED = "merged"
    DUPLICATE = "duplicate"
    UNUSED = "unused"


class Conversation(Identified, Timestamped, Base):
    """`last_number` is the number of its last message; whoever adds one holds this row, so there are no gaps.

    `user_id` is the integrator's own id of the user, by which users are told apart; `user_name` is only shown.
    """

    __tablename__ = "conversation"
    __table_args__ = (
        team_key(),
        team_link("primary_agent_id", "agent"),
        CheckConstraint("(status = 'closed') = (closed_at is not null)", name="closed"),
        Index("ix_conversation_team_status", "team_id", "status", "id"),
        Index("ix_conversation_primary_agent", "team_id", "primary_agent_id", "id"),
        Index("ix_conversation_user", "team_id", "user_id", "id", postgresql_where=text("user_id is not null")),
    )

    team_id: Mapped[UUID] = mapped_column(ForeignKey("team.id"))
    title: Mapped[str] = mapped_column(String(200), server_default="")
    status: Mapped[ConversationStatus] = mapped_column(
        text_enum(ConversationStatus), server_default=ConversationStatus.OPEN.value
    )
    primary_agent_id: Mapped[UUID]
    user_name: Mapped[str] = mapped_column(String(120))
    user_id: Mapped[str | None] = mapped_column(String(MAX_USER_ID))
    created_by: Mapped[str] = mapped_column(String(120))
    last_number: Mapped[int] = mapped_column(server_default="0")
    closed_at: Mapped[datetime | None]


class ConversationParticipant(Identified, Base):
    """One row for an agent and a conversation, also when it leaves and comes back."""

    __tablename__ = "conversation_participant"
    __table_args__ = (
        team_key(),
        team_link("conversation_id", "conversation"),
        team_link("agent_id", "agent"),
        UniqueConstraint("conversation_id", "agent_id"),
        Index(
            "uq_conversation_participant_primary",
            "conversation_id",
            unique=True,
            postgresql_where=text("role = 'primary'"),
        ),
        Index("ix_conversation_participant_agent", "team_id", "agent_id", "id"),
    )

    team_id: Mapped[UUID]
    conversation_id: Mapped[UUID]
    agent_id: Mapped[UUID]
    role: Mapped[ParticipantRole] = mapped_column(text_enum(ParticipantRole))
    joined_at: Mapped[datetime] = mapped_column(server_default=func.now())
    left_at: Mapped[datetime | None]


class Message(Identified, Base):
    """`number` counts a conversation's messages from 1, without gaps; `text` is what its parts say, in words."""

    __tablename__ = "message"
    __table_args__ = (
        team_key(),
        team_link("conversation_id", "conversation"),
        team_link("agent_id", "agent"),
        team_link("in_reply_to_id", "message"),
        team_link("decision_id", "routing_decision"),
        team_link("task_id", "task"),
        team_link("handoff_target_id", "agent"),
        UniqueConstraint("conversation_id", "number"),
        CheckConstraint("(author = 'agent') = (agent_id is not null)", name="agent"),
        Index("ix_message_agent", "team_id", "agent_id", "id", postgresql_where=text("agent_id is not null")),
        Index("ix_message_in_reply_to", "in_reply_to_id", postgresql_where=text("in_reply_to_id is not null")),
    )

    team_id: Mapped[UUID]
    conversation_id: Mapped[UUID]
    number: Mapped[int]
    author: Mapped[MessageAuthor] = mapped_column(text_enum(MessageAuthor))
    author_name: Mapped[str] = mapped_column(String(120))
    agent_id: Mapped[UUID | None]
    text: Mapped[str] = mapped_column(Text)
    parts: Mapped[list[Any]]
    artifacts: Mapped[list[str]] = mapped_column(ARRAY(Text), server_default="{}")
    in_reply_to_id: Mapped[UUID | None]
    decision_id: Mapped[UUID | None]
    task_id: Mapped[UUID | None]
    cost: Mapped[Decimal] = mapped_column(USD, server_default="0")
    handoff_triggered: Mapped[bool | None]
    handoff_target_id: Mapped[UUID | None]
    created_at: Mapped[datetime] = mapped_column(server_default=func.clock_timestamp())


class Reply(Identified, Base):
    """The answering of one message: who was chosen, how far they are, and the message that it became."""

    __tablename__ = "reply"
    __table_args__ = (
        team_key(),
        team_link("conversation_id", "conversation"),
        team_link("message_id", "message"),
        team_link("decision_id", "routing_decision"),
        team_link("answer_id", "message"),
        UniqueConstraint("message_id"),
        CheckConstraint("(status in ('pending', 'running')) = (finished_at is null)", name="finished"),
        CheckConstraint("(answer_id is not null) = (status in ('completed', 'failed'))", name="answer"),
        Index("uq_reply_running", "conversation_id", unique=True, postgresql_where=text("status = 'running'")),
        Index(
            "ix_reply_unfinished",
            "conversation_id",
            "number",
            postgresql_where=text("status in ('pending', 'running')"),
        ),
        Index("ix_reply_conversation", "conversation_id", "number"),
        Index("ix_reply_team_status", "team_id", "status", "id"),
    )

    team_id: Mapped[UUID]
    conversation_id: Mapped[UUID]
    message_id: Mapped[UUID]
    number: Mapped[int]  # of the message, which is the order in which replies take their turns
    strategy: Mapped[Strategy] = mapped_column(text_enum(Strategy))
    status: Mapped[ReplyStatus] = mapped_column(text_enum(ReplyStatus), server_default=ReplyStatus.PENDING.value)
    decision_id: Mapped[UUID | None]  # none where a handoff, not routing, chose the agent
    on_behalf_of: Mapped[str] = mapped_column(String(120))
    model_tier: Mapped[int | None] = mapped_column(SmallInteger)
    timeout_s: Mapped[int]
    answer_id: Mapped[UUID | None]
    error: Mapped[str | None] = mapped_column(Text)
    cost: Mapped[Decimal] = mapped_column(USD, server_default="0")
    created_at: Mapped[datetime] = mapped_column(server_default=func.now())
    started_at: Mapped[datetime | None]
    finished_at: Mapped[datetime | None]


class Contribution(Identified, Base):
    """What one chosen agent made of a message. `place` is its rank among the chosen, from 1."""

    __tablename__ = "contribution"
    __table_args__ = (
        team_key(),
        team_link("reply_id", "reply"),
        team_link("agent_id", "agent"),
        team_link("task_id", "task"),
        UniqueConstraint("reply_id", "place"),
        UniqueConstraint("reply_id", "agent_id"),
        UniqueConstraint("task_id"),
        Index("ix_contribution_agent", "team_id", "agent_id", "id"),
    )

    team_id: Mapped[UUID]
    reply_id: Mapped[UUID]
    agent_id: Mapped[UUID]
    place: Mapped[int] = mapped_column(SmallInteger)
    status: Mapped[ContributionStatus] = mapped_column(
        text_enum(ContributionStatus), server_default=ContributionStatus.WAITING.value
    )
    task_id: Mapped[UUID | None]
    text: Mapped[str | None] = mapped_column(Text)
    error: Mapped[str | None] = mapped_column(Text)
    relevance: Mapped[float | None] = mapped_column(Double)
    use: Mapped[ContributionUse | None] = mapped_column(text_enum(ContributionUse))
