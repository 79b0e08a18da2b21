"""The team: tenant and owner of everything else."""

from __future__ import annotations

from decimal import Decimal
from enum import StrEnum
from typing import Any
from uuid import UUID

from sqlalchemy import CheckConstraint, ForeignKeyConstraint, Numeric, String
from sqlalchemy.orm import Mapped, mapped_column

from app.db.base import Base, Identified, Timestamped, text_enum

MAX_SLUG = 63
MAX_NAME = 120
MAX_DESCRIPTION = 2_000
MOST_BUDGET_USD = 1_000_000


class AfterWork(StrEnum):
    """What happens after an agent's reply when no handoff rule fires."""

    RETURN_TO_USER = "return_to_user"
    TERMINATE = "terminate"
    CONTINUE = "continue"


class MessagePolicy(StrEnum):
    """Whether agents may write to each other, or reach each other by task, handoff and consultation only."""

    OPEN = "open"
    HUB_AND_SPOKE = "hub_and_spoke"


class Team(Identified, Timestamped, Base):
    __tablename__ = "team"
    __table_args__ = (
        CheckConstraint("slug ~ '^[a-z0-9]([a-z0-9-]*[a-z0-9])?$'", name="slug"),
        CheckConstraint("day_budget_usd >= 0 and month_budget_usd >= 0", name="budgets"),
        # Checked at commit: a team and its first agent may be written in one transaction.
        ForeignKeyConstraint(
            ["id", "default_agent_id"],
            ["agent.team_id", "agent.id"],
            name="fk_team_default_agent",
            use_alter=True,
            deferrable=True,
            initially="DEFERRED",
        ),
    )

    slug: Mapped[str] = mapped_column(String(MAX_SLUG), unique=True)
    name: Mapped[str] = mapped_column(String(MAX_NAME))
    description: Mapped[str] = mapped_column(String(MAX_DESCRIPTION), server_default="")
    default_agent_id: Mapped[UUID | None]
    after_work: Mapped[AfterWork] = mapped_column(text_enum(AfterWork), server_default=AfterWork.RETURN_TO_USER.value)
    message_policy: Mapped[MessagePolicy] = mapped_column(
        text_enum(MessagePolicy), server_default=MessagePolicy.OPEN.value
    )
    flags: Mapped[dict[str, Any]] = mapped_column(server_default="{}")
    context_variables: Mapped[dict[str, Any]] = mapped_column(server_default="{}")
    # Kinds by name: what replies and callers may give a value to in a conversation.
    runtime_variables: Mapped[dict[str, Any]] = mapped_column(server_default="{}")
    input_variables: Mapped[dict[str, Any]] = mapped_column(server_default="{}")
    # Shapes of collaboration sessions, each under a slug; see app.collaborations.templates.
    collaboration_templates: Mapped[list[Any]] = mapped_column(server_default="[]")
    trusted_only_roles: Mapped[list[Any]] = mapped_column(server_default="[]")
    # US dollars; without a value the installation's setting counts.
    day_budget_usd: Mapped[Decimal | None] = mapped_column(Numeric(14, 6))
    month_budget_usd: Mapped[Decimal | None] = mapped_column(Numeric(14, 6))
