"""Handoff rules: when a conversation passes from one agent to another; and what judges said of replies."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from uuid import UUID

from sqlalchemy import CheckConstraint, ForeignKey, Index, LargeBinary, String, func, text
from sqlalchemy.orm import Mapped, mapped_column

from app.db.base import Base, Identified, Timestamped, team_key, team_link

MAX_REASON = 500


class TargetKind(StrEnum):
    """Whom a rule hands over to."""

    AGENT = "agent"
    GROUP = "group"
    PREVIOUS_AGENT = "previous_agent"


class HandoffRule(Identified, Timestamped, Base):
    """One version, which never changes but for `retired_at`. No `from_agent_id` means any agent, neither target the
    previous one; `first_id` is the rule's first version, or null in the first version itself."""

    __tablename__ = "handoff_rule"
    __table_args__ = (
        team_key(),
        team_link("from_agent_id", "agent"),
        team_link("to_agent_id", "agent"),
        team_link("to_group_id", "agent_group"),
        team_link("first_id", "handoff_rule"),
        CheckConstraint("from_agent_id is distinct from to_agent_id or from_agent_id is null", name="two_agents"),
        CheckConstraint("to_agent_id is null or to_group_id is null", name="one_target"),
        CheckConstraint("version >= 1 and (version = 1) = (first_id is null)", name="version"),
        Index("ix_handoff_rule_team_priority", "team_id", "priority", "id"),
        Index("ix_handoff_rule_first", "first_id", postgresql_where=text("first_id is not null")),
    )

    team_id: Mapped[UUID] = mapped_column(ForeignKey("team.id"))
    first_id: Mapped[UUID | None]
    version: Mapped[int] = mapped_column(server_default="1")
    from_agent_id: Mapped[UUID | None]
    to_agent_id: Mapped[UUID | None]
    to_group_id: Mapped[UUID | None]
    condition: Mapped[str] = mapped_column(String(2_000))
    priority: Mapped[int] = mapped_column(server_default="1")
    # Whether its comparisons may use values that were only read in the text of a reply.
    trusts_text: Mapped[bool] = mapped_column(server_default="false", default=False)
    retired_at: Mapped[datetime | None]

    @property
    def root_id(self) -> UUID:
        """What all versions of the rule have in common."""
        return self.first_id or self.id

    @property
    def target(self) -> TargetKind:
        if self.to_group_id is not None:
            return TargetKind.GROUP
        return TargetKind.PREVIOUS_AGENT if self.to_agent_id is None else TargetKind.AGENT


class ClauseVerdict(Base):
    """What a judge said of a reply and a clause; `digest` is the hash of the three."""

    __tablename__ = "clause_verdict"
    __table_args__ = (
        CheckConstraint("confidence between 0 and 1", name="confidence"),
        Index("ix_clause_verdict_created_at", "created_at"),
    )

    team_id: Mapped[UUID] = mapped_column(ForeignKey("team.id"), primary_key=True)
    digest: Mapped[bytes] = mapped_column(LargeBinary, primary_key=True)
    confidence: Mapped[float]
    reason: Mapped[str] = mapped_column(String(MAX_REASON))
    created_at: Mapped[datetime] = mapped_column(server_default=func.now())
