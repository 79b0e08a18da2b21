"""What Parley still has to do by itself."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from uuid import UUID

from sqlalchemy import ForeignKey, Index, Integer, Text, func
from sqlalchemy.orm import Mapped, mapped_column

from app.db.base import Base, Identified, text_enum


class ErrandKind(StrEnum):
    """What is to be done; each kind has one function, entered in `jobs.errands`."""

    TASK_ENDED = "task_ended"
    TASK_BEGUN = "task_begun"  # one whose owner wants to know, at its first attempt
    COLLABORATION_DEADLINE = "collaboration_deadline"
    START_REPLY = "start_reply"  # a reply
    CONTRIBUTION_OVERDUE = "contribution_overdue"  # a contribution
    HANDOFF_DUE = "handoff_due"  # a handoff
    ATTENTION_DUE = "attention_due"  # something that needs a person, at its deadline
    CONSULTATION_STOPPED = "consultation_stopped"  # one whose specialist was paused or archived
    AGENT_STOPPED = "agent_stopped"  # an agent that was paused or archived


class Errand(Identified, Base):
    """Written in the transaction that makes it necessary, gone with the transaction that does it.

    `subject_id` is what it is about; the kind says of which table.
    """

    __tablename__ = "errand"
    __table_args__ = (Index("ix_errand_due", "due_at", "id"),)

    team_id: Mapped[UUID] = mapped_column(ForeignKey("team.id"))
    kind: Mapped[ErrandKind] = mapped_column(text_enum(ErrandKind, checked=False, length=64))
    subject_id: Mapped[UUID]
    due_at: Mapped[datetime] = mapped_column(server_default=func.now())
    failures: Mapped[int] = mapped_column(Integer, server_default="0")
    error: Mapped[str | None] = mapped_column(Text)
    created_at: Mapped[datetime] = mapped_column(server_default=func.now())
