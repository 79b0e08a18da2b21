"""Messages between agents, and the inboxes that they were put into."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from uuid import UUID

from sqlalchemy import BigInteger, CheckConstraint, Computed, ForeignKey, Index, String, Text, func, text
from sqlalchemy.orm import Mapped, mapped_column

from app.db.base import Base, Identified, team_key, team_link, text_enum

MAX_SUBJECT = 200
MAX_BODY = 20_000


class ChannelKind(StrEnum):
    """Whom a message is for; the value is the word in a channel's name."""

    DIRECT = "direct"
    TEAM = "team"
    TASK = "task"
    COLLABORATION = "collab"


class AgentMessageType(StrEnum):
    TASK_REQUEST = "task_request"
    TASK_RESULT = "task_result"
    TASK_STATUS = "task_status"
    INFO_REQUEST = "info_request"
    INFO_RESPONSE = "info_response"
    NOTIFICATION = "notification"
    COLLAB_INVITE = "collab_invite"
    COLLAB_UPDATE = "collab_update"
    HANDOFF_REQUEST = "handoff_request"
    FEEDBACK = "feedback"
    REVIEW_REQUEST = "review_request"
    REVIEW_RESULT = "review_result"


class AgentMessage(Identified, Base):
    """What was said, once, however many got it. Of a task's channel `task_id` is that task, else what it is about."""

    __tablename__ = "agent_message"
    __table_args__ = (
        team_key(),
        team_link("sender_id", "agent"),
        team_link("recipient_id", "agent"),
        team_link("task_id", "task"),
        team_link("reply_to_id", "agent_message"),
        team_link("collaboration_id", "collaboration"),
        CheckConstraint("(channel_kind = 'direct') = (recipient_id is not null)", name="recipient"),
        CheckConstraint("channel_kind <> 'task' or task_id is not null", name="task"),
        CheckConstraint("(channel_kind = 'collab') = (collaboration_id is not null)", name="collaboration"),
        CheckConstraint("sender_id <> recipient_id", name="not_itself"),
        Index("ix_agent_message_sender", "team_id", "sender_id", "id"),
        Index("ix_agent_message_task", "task_id", "id", postgresql_where=text("task_id is not null")),
        Index("ix_agent_message_reply_to", "reply_to_id", "id", postgresql_where=text("reply_to_id is not null")),
        Index(
            "ix_agent_message_collaboration",
            "collaboration_id",
            "id",
            postgresql_where=text("collaboration_id is not null"),
        ),
    )

    team_id: Mapped[UUID] = mapped_column(ForeignKey("team.id"))
    sender_id: Mapped[UUID]
    channel_kind: Mapped[ChannelKind] = mapped_column(text_enum(ChannelKind))
    recipient_id: Mapped[UUID | None]
    task_id: Mapped[UUID | None]
    collaboration_id: Mapped[UUID | None]
    type: Mapped[AgentMessageType] = mapped_column(text_enum(AgentMessageType))
    subject: Mapped[str] = mapped_column(String(MAX_SUBJECT), server_default="")
    body: Mapped[str] = mapped_column(Text)
    reply_to_id: Mapped[UUID | None]
    recipient_count: Mapped[int]
    expires_at: Mapped[datetime | None]
    sent_at: Mapped[datetime] = mapped_column(server_default=func.now())


class InboxEntry(Base):
    """One agent's copy of a message. It has the id and the position of the event that tells of it, so that an inbox
    is in the order of the log, and a place in the log is a place in the inbox.

    Sender, type and expiry are the message's: they never change, and an inbox is looked through by them.
    """

    __tablename__ = "inbox_entry"
    __table_args__ = (
        team_key(),
        team_link("agent_id", "agent"),
        team_link("sender_id", "agent"),
        team_link("message_id", "agent_message"),
        Index("uq_inbox_entry_message", "message_id", "agent_id", unique=True),
        Index("ix_inbox_entry_place", "agent_id", "position", "id"),
        Index("ix_inbox_entry_newest", "agent_id", "unread", "received_at", "id"),
        Index("ix_inbox_entry_unread", "agent_id", "expires_at", postgresql_where=text("read_at is null")),
    )

    id: Mapped[UUID] = mapped_column(primary_key=True)
    team_id: Mapped[UUID]
    agent_id: Mapped[UUID]
    message_id: Mapped[UUID]
    sender_id: Mapped[UUID]
    type: Mapped[AgentMessageType] = mapped_column(text_enum(AgentMessageType))
    position: Mapped[int] = mapped_column(BigInteger, server_default=text("event_position()"))
    expires_at: Mapped[datetime | None]
    received_at: Mapped[datetime] = mapped_column(server_default=func.now())
    read_at: Mapped[datetime | None]
    unread: Mapped[bool] = mapped_column(Computed("read_at is null", persisted=True))
