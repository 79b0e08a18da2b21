"""Groups: agents of one team that work together, for a time or for good. They may lie in each other."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from sqlalchemy import CheckConstraint, ForeignKey, Index, String, Text, text
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.orm import Mapped, mapped_column

from app.db.base import Base, Identified, Timestamped, team_key, team_link

MAX_PURPOSE = 2_000


class AgentGroup(Identified, Timestamped, Base):
    """A dissolved group stays, for the tasks that were given to it; its slug is free again."""

    __tablename__ = "agent_group"
    __table_args__ = (
        team_key(),
        team_link("coordinator_id", "agent"),
        team_link("parent_id", "agent_group"),
        CheckConstraint("slug ~ '^[a-z0-9]([a-z0-9-]*[a-z0-9])?$'", name="slug"),
        CheckConstraint("parent_id <> id", name="parent"),
        Index(
            "uq_agent_group_slug", "team_id", "slug", unique=True, postgresql_where=text("dissolved_at is null")
        ),
        Index("ix_agent_group_parent", "parent_id", postgresql_where=text("dissolved_at is null")),
    )  # fmt: skip

    team_id: Mapped[UUID] = mapped_column(ForeignKey("team.id"))
    slug: Mapped[str] = mapped_column(String(63))
    name: Mapped[str] = mapped_column(String(120))
    purpose: Mapped[str] = mapped_column(String(MAX_PURPOSE), server_default="")
    required_skills: Mapped[list[str]] = mapped_column(ARRAY(Text), server_default="{}")
    coordinator_id: Mapped[UUID | None]
    parent_id: Mapped[UUID | None]
    dissolved_at: Mapped[datetime | None]


class AgentGroupMember(Base):
    __tablename__ = "agent_group_member"
    __table_args__ = (
        team_link("group_id", "agent_group", ondelete="CASCADE"),
        team_link("agent_id", "agent"),
        Index("ix_agent_group_member_agent", "agent_id"),
    )

    team_id: Mapped[UUID]
    group_id: Mapped[UUID] = mapped_column(primary_key=True)
    agent_id: Mapped[UUID] = mapped_column(primary_key=True)
