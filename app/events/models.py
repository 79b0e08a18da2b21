"""The append-only event log and its clock."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import BigInteger, CheckConstraint, Index, SmallInteger, String, func, text
from sqlalchemy.orm import Mapped, mapped_column

from app.db.base import Base, text_enum
from app.events.kinds import EventKind
from app.ids import new_id


class Event(Base):
    """One thing that happened. Ordered by (position, id): position follows the transaction, id the order inside it.

    Of a task's event `agent_id` is the assignee; the task's place in its tree and the others whom it concerns are kept
    beside it, so that whoever follows them finds the event by an index.

    No foreign keys: an event outlives what it tells of, and the writer has just written that row.
    """

    __tablename__ = "event"
    __table_args__ = (
        Index("ix_event_order", "position", "id"),
        Index("ix_event_team", "team_id", "position", "id"),
        Index("ix_event_team_at", "team_id", "at", "id"),
        Index("ix_event_agent", "agent_id", "position", "id", postgresql_where=text("agent_id is not null")),
        Index("ix_event_task", "task_id", "position", "id", postgresql_where=text("task_id is not null")),
        Index("ix_event_tree", "root_task_id", "position", "id", postgresql_where=text("root_task_id is not null")),
        Index("ix_event_creator", "creator_id", "position", "id", postgresql_where=text("creator_id is not null")),
        Index(
            "ix_event_former_assignee",
            "former_assignee_id",
            "position",
            "id",
            postgresql_where=text("former_assignee_id is not null"),
        ),
        Index(
            "ix_event_conversation",
            "conversation_id",
            "position",
            "id",
            postgresql_where=text("conversation_id is not null"),
        ),
        Index(
            "ix_event_collaboration",
            "collaboration_id",
            "position",
            "id",
            postgresql_where=text("collaboration_id is not null"),
        ),
        Index(
            "ix_event_consultation",
            "consultation_id",
            "position",
            "id",
            postgresql_where=text("consultation_id is not null"),
        ),
        {"postgresql_partition_by": "RANGE (at)"},
    )

    # The sentinel lets events of one flush go out in one statement: the other half of the key is the server's.
    id: Mapped[UUID] = mapped_column(primary_key=True, default=new_id, insert_sentinel=True)
    at: Mapped[datetime] = mapped_column(primary_key=True, server_default=func.now())
    position: Mapped[int] = mapped_column(BigInteger, server_default=text("event_position()"))
    team_id: Mapped[UUID]
    kind: Mapped[EventKind] = mapped_column(text_enum(EventKind, checked=False, length=64))
    actor: Mapped[str] = mapped_column(String(120))
    api_key_id: Mapped[UUID | None]
    agent_id: Mapped[UUID | None]
    task_id: Mapped[UUID | None]
    parent_task_id: Mapped[UUID | None]
    grandparent_task_id: Mapped[UUID | None]
    root_task_id: Mapped[UUID | None]
    creator_id: Mapped[UUID | None]
    former_assignee_id: Mapped[UUID | None]
    conversation_id: Mapped[UUID | None]
    collaboration_id: Mapped[UUID | None]
    consultation_id: Mapped[UUID | None]
    changes: Mapped[dict[str, Any]] = mapped_column(server_default="{}")


class EventClock(Base):
    """One row. `shift` keeps positions growing after a restore into a cluster whose transaction ids start anew;
    `floor` is the highest position that retention has dropped."""

    __tablename__ = "event_clock"
    __table_args__ = (CheckConstraint("id = 1", name="one_row"),)

    id: Mapped[int] = mapped_column(SmallInteger, primary_key=True, server_default="1", autoincrement=False)
    shift: Mapped[int] = mapped_column(BigInteger, server_default="0")
    floor: Mapped[int] = mapped_column(BigInteger, server_default="0")
