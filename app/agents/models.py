"""Agents and their skills."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from uuid import UUID

from sqlalchemy import CheckConstraint, ForeignKey, Index, Numeric, SmallInteger, String, Text, UniqueConstraint
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.orm import Mapped, mapped_column

from app.db.base import Base, Identified, Timestamped, team_key, team_link, text_enum


class AgentStatus(StrEnum):
    ACTIVE = "active"
    PAUSED = "paused"
    ARCHIVED = "archived"


class AgentType(StrEnum):
    GENERAL = "general"
    ARCHITECT = "architect"
    DEVELOPER = "developer"
    REVIEWER = "reviewer"
    TESTER = "tester"
    DOCUMENTER = "documenter"
    SECURITY = "security"
    OPTIMIZER = "optimizer"
    CUSTOM = "custom"


class AgentRuntime(StrEnum):
    """Who runs the agent: Parley's workers on a model, or somebody's own program over the API."""

    MANAGED = "managed"
    EXTERNAL = "external"


class Agent(Identified, Timestamped, Base):
    __tablename__ = "agent"
    __table_args__ = (
        team_key(),
        UniqueConstraint("team_id", "slug"),
        CheckConstraint("slug ~ '^[a-z0-9]([a-z0-9-]*[a-z0-9])?$'", name="slug"),
        CheckConstraint("day_allowance_usd >= 0", name="day_allowance"),
        CheckConstraint("model_tier between 0 and 2", name="model_tier"),
        CheckConstraint("formality between 0 and 1", name="formality"),
        CheckConstraint("humor between 0 and 1", name="humor"),
        CheckConstraint("technical_depth between 0 and 1", name="technical_depth"),
        CheckConstraint("(type = 'custom') = (custom_type is not null)", name="custom_type"),
        CheckConstraint("(status = 'archived') = (archived_at is not null)", name="archived_at"),
        Index("ix_agent_team_created", "team_id", "created_at", "id"),
        Index("ix_agent_team_name", "team_id", "name", "id"),
    )

    team_id: Mapped[UUID] = mapped_column(ForeignKey("team.id"))
    slug: Mapped[str] = mapped_column(String(63))
    name: Mapped[str] = mapped_column(String(120))
    tagline: Mapped[str] = mapped_column(String(200), server_default="")
    role: Mapped[str] = mapped_column(String(500), server_default="")
    personality: Mapped[str] = mapped_column(Text, server_default="")
    formality: Mapped[float] = mapped_column(server_default="0.5")
    humor: Mapped[float] = mapped_column(server_default="0.5")
    technical_depth: Mapped[float] = mapped_column(server_default="0.5")
    status: Mapped[AgentStatus] = mapped_column(text_enum(AgentStatus), server_default=AgentStatus.ACTIVE.value)
    type: Mapped[AgentType] = mapped_column(text_enum(AgentType), server_default=AgentType.GENERAL.value)
    custom_type: Mapped[str | None] = mapped_column(String(63))
    tools: Mapped[list[str]] = mapped_column(ARRAY(Text), server_default="{}")
    model_tier: Mapped[int] = mapped_column(SmallInteger, server_default="1")
    runtime: Mapped[AgentRuntime] = mapped_column(text_enum(AgentRuntime), server_default=AgentRuntime.MANAGED.value)
    version: Mapped[int] = mapped_column(server_default="1")
    # US dollars that its key may spend in a UTC day on work outside any task; none: the installation's setting.
    day_allowance_usd: Mapped[Decimal | None] = mapped_column(Numeric(14, 6))
    archived_at: Mapped[datetime | None]


class Skill(Base):
    __tablename__ = "agent_skill"
    __table_args__ = (team_link("agent_id", "agent", ondelete="CASCADE"),)

    team_id: Mapped[UUID]
    agent_id: Mapped[UUID] = mapped_column(primary_key=True)
    position: Mapped[int] = mapped_column(SmallInteger, primary_key=True)
    name: Mapped[str] = mapped_column(String(120))
    description: Mapped[str] = mapped_column(String(1_000), server_default="")
