"""The outbox of follow-up jobs."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from uuid import UUID

from sqlalchemy import ForeignKey, Index, Integer, Text, func
from sqlalchemy.orm import Mapped, mapped_column

from app.db.base import Base, Identified, text_enum


class FollowUpKind(StrEnum):
    """What a follow-up job does; `subject_id` is the id of what the comment names. The arq function in `jobs/` has the
    same name."""

    START_REPLY = "start_reply"  # reply
    REPLY_TASK_ENDED = "reply_task_ended"  # task
    CONTRIBUTION_OVERDUE = "contribution_overdue"  # contribution
    STAGE_TASK_ENDED = "stage_task_ended"  # task
    SESSION_DEADLINE = "session_deadline"  # collaboration session
    REPORT_TASK_ENDED = "report_task_ended"  # task
    CONSULTATION_TASK_STARTED = "consultation_task_started"  # task
    CONSULTATION_TASK_ENDED = "consultation_task_ended"  # task
    SPECIALIST_STOPPED = "specialist_stopped"  # consultation whose specialist was paused or archived
    HANDOFF_DUE = "handoff_due"  # handoff
    AGENT_STOPPED = "agent_stopped"  # agent that was paused, archived or removed
    ATTENTION_DUE = "attention_due"  # attention item


class FollowUp(Identified, Base):
    """Written in the transaction that makes it necessary, deleted by the transaction that does it."""

    __tablename__ = "follow_up"
    __table_args__ = (Index("ix_follow_up_due", "due_at", "id"),)

    team_id: Mapped[UUID] = mapped_column(ForeignKey("team.id"))
    kind: Mapped[FollowUpKind] = mapped_column(text_enum(FollowUpKind, checked=False, length=64))
    subject_id: Mapped[UUID]
    due_at: Mapped[datetime] = mapped_column(server_default=func.now())
    failures: Mapped[int] = mapped_column(Integer, server_default="0")
    error: Mapped[str | None] = mapped_column(Text)
    created_at: Mapped[datetime] = mapped_column(server_default=func.now())
