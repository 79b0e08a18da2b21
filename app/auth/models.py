"""API keys, hashed at rest, and the answers kept for idempotency keys."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import CheckConstraint, ForeignKey, Index, LargeBinary, String, func
from sqlalchemy.orm import Mapped, mapped_column

from app.auth.roles import Role
from app.db.base import Base, Identified, team_key, team_link, text_enum


class ApiKey(Identified, Base):
    __tablename__ = "api_key"
    __table_args__ = (
        team_key(),
        team_link("agent_id", "agent"),
        CheckConstraint("(role = 'agent') = (agent_id is not null)", name="agent_role"),
        Index("ix_api_key_team_created", "team_id", "created_at", "id"),
    )

    team_id: Mapped[UUID] = mapped_column(ForeignKey("team.id"))
    name: Mapped[str] = mapped_column(String(120))
    role: Mapped[Role] = mapped_column(text_enum(Role))
    agent_id: Mapped[UUID | None]
    prefix: Mapped[str] = mapped_column(String(24))
    hash: Mapped[bytes] = mapped_column(LargeBinary, unique=True)
    created_at: Mapped[datetime] = mapped_column(server_default=func.now())
    expires_at: Mapped[datetime | None]
    revoked_at: Mapped[datetime | None]


class IdempotencyRecord(Base):
    """The outcome of a mutation under a caller's key. The row's unique key makes a concurrent duplicate wait."""

    __tablename__ = "idempotency_record"
    __table_args__ = (Index("ix_idempotency_record_created_at", "created_at"),)

    api_key_id: Mapped[UUID] = mapped_column(ForeignKey("api_key.id"), primary_key=True)
    key: Mapped[str] = mapped_column(String(200), primary_key=True)
    mutation: Mapped[str] = mapped_column(String(80))
    input_hash: Mapped[bytes] = mapped_column(LargeBinary)
    outcome: Mapped[dict[str, Any] | None]
    created_at: Mapped[datetime] = mapped_column(server_default=func.now())
