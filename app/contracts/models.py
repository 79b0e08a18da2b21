"""Contracts: named and versioned JSON Schemas of what a task is given and of what it answers."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import CheckConstraint, ForeignKey, Index, String, UniqueConstraint, func, text
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.orm import Mapped, mapped_column

from app.db.base import Base, Identified, team_key

MAX_NAME = 63
MAX_DESCRIPTION = 2_000


class Contract(Identified, Base):
    """One version. It never changes but for `retired_at`: when a newer version took its place, or it was deleted."""

    __tablename__ = "contract"
    __table_args__ = (
        team_key(),
        UniqueConstraint("team_id", "name", "version"),
        CheckConstraint("name ~ '^[a-z0-9]([a-z0-9-]*[a-z0-9])?$'", name="name"),
        CheckConstraint("version >= 1", name="version"),
        CheckConstraint("input_schema is not null or output_schema is not null", name="says_something"),
        Index("uq_contract_current", "team_id", "name", unique=True, postgresql_where=text("retired_at is null")),
    )

    team_id: Mapped[UUID] = mapped_column(ForeignKey("team.id"))
    name: Mapped[str] = mapped_column(String(MAX_NAME))
    version: Mapped[int]
    description: Mapped[str] = mapped_column(String(MAX_DESCRIPTION), server_default="")
    built_in: Mapped[bool] = mapped_column(server_default="false")
    input_schema: Mapped[dict[str, Any] | None] = mapped_column(JSONB(none_as_null=True))
    output_schema: Mapped[dict[str, Any] | None] = mapped_column(JSONB(none_as_null=True))
    created_at: Mapped[datetime] = mapped_column(server_default=func.now())
    retired_at: Mapped[datetime | None]
