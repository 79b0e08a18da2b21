"""What agents remember, and the shelves on which it stands: one of the team, one of each agent."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Any
from uuid import UUID

from pgvector.sqlalchemy import VECTOR
from sqlalchemy import CheckConstraint, Computed, ForeignKey, Index, LargeBinary, String, Text, Uuid
from sqlalchemy import text as sql
from sqlalchemy.orm import Mapped, mapped_column

from app.db.base import Base, Identified, Timestamped, team_key, team_link, text_enum
from app.embeddings.embedder import DIMENSIONS

MAX_TEXT = 4_000
MAX_SUBJECT = 200
MAX_REASON = 300


class MemoryKind(StrEnum):
    PRIVATE = "private"
    SHARED = "shared"
    EPISODIC = "episodic"
    PROCEDURAL = "procedural"
    USER_PROFILE = "user_profile"


class Memory(Identified, Timestamped, Base):
    """No `agent_id` means that it is the team's. `confidence` and `reason` are there where nobody said the kind.

    Without an embedding, or with one of another embedder, it is found by its words. `conversation_id` and
    `consultation_id` are where it was learned, and limit who reads it: see `audience`.
    """

    __tablename__ = "memory"
    __table_args__ = (
        team_key(),
        team_link("agent_id", "agent"),
        team_link("learned_by_id", "agent"),
        team_link("task_id", "task"),
        team_link("conversation_id", "conversation"),
        team_link("consultation_id", "consultation"),
        CheckConstraint("kind <> 'private' or agent_id is not null", name="owner"),
        CheckConstraint("kind not in ('shared', 'user_profile') or agent_id is null", name="of_the_team"),
        CheckConstraint("(kind = 'user_profile') = (subject is not null)", name="subject"),
        CheckConstraint("importance between 0 and 1", name="importance"),
        CheckConstraint("(embedding is null) = (embedder is null)", name="embedder"),
        Index(
            "uq_memory_text", "team_id", "owner_id", "kind", "subject", "text_hash",
            unique=True, postgresql_nulls_not_distinct=True,
        ),
        Index("ix_memory_embedder", "team_id", "embedder"),
        Index("ix_memory_expires_at", "expires_at", postgresql_where=sql("expires_at is not null")),
    )  # fmt: skip

    team_id: Mapped[UUID] = mapped_column(ForeignKey("team.id"))
    kind: Mapped[MemoryKind] = mapped_column(text_enum(MemoryKind))
    agent_id: Mapped[UUID | None]
    owner_id: Mapped[UUID] = mapped_column(Uuid, Computed("coalesce(agent_id, team_id)", persisted=True))
    subject: Mapped[str | None] = mapped_column(String(MAX_SUBJECT))
    text: Mapped[str] = mapped_column(Text)
    text_hash: Mapped[bytes] = mapped_column(LargeBinary)
    learned_by_id: Mapped[UUID | None]
    task_id: Mapped[UUID | None]
    conversation_id: Mapped[UUID | None]
    consultation_id: Mapped[UUID | None]
    embedding: Mapped[Any | None] = mapped_column(VECTOR(DIMENSIONS))
    embedder: Mapped[str | None] = mapped_column(String(120))
    importance: Mapped[float]
    confidence: Mapped[float | None]
    reason: Mapped[str | None] = mapped_column(String(MAX_REASON))
    times_told: Mapped[int] = mapped_column(server_default="1")
    expires_at: Mapped[datetime | None]


class MemoryShelf(Base):
    """The version of what one owner remembers: another one with every change, in the same transaction.

    `owner_id` is an agent's id, or the team's. It is random, not counted, so that no version ever comes again, also
    after the database was restored from a backup.
    """

    __tablename__ = "memory_shelf"

    team_id: Mapped[UUID] = mapped_column(ForeignKey("team.id"), primary_key=True)
    owner_id: Mapped[UUID] = mapped_column(primary_key=True)
    version: Mapped[UUID]
