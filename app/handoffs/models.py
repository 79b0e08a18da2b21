"""Handoff rules: when a conversation passes from one agent to another."""

from __future__ import annotations

from uuid import UUID

from sqlalchemy import CheckConstraint, ForeignKey, Index, String
from sqlalchemy.orm import Mapped, mapped_column

from app.db.base import Base, Identified, Timestamped, team_key, team_link


class HandoffRule(Identified, Timestamped, Base):
    """No `from_agent_id` means any agent; no `to_agent_id` means the previous agent."""

    __tablename__ = "handoff_rule"
    __table_args__ = (
        team_key(),
        team_link("from_agent_id", "agent"),
        team_link("to_agent_id", "agent"),
        CheckConstraint("from_agent_id is distinct from to_agent_id or from_agent_id is null", name="two_agents"),
        Index("ix_handoff_rule_team_priority", "team_id", "priority", "id"),
    )

    team_id: Mapped[UUID] = mapped_column(ForeignKey("team.id"))
    from_agent_id: Mapped[UUID | None]
    to_agent_id: Mapped[UUID | None]
    condition: Mapped[str] = mapped_column(String(2_000))
    priority: Mapped[int] = mapped_column(server_default="1")
