"""Budget accounts: what may be spent, what is reserved for work under way, what was spent."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from enum import StrEnum
from uuid import UUID

from sqlalchemy import CheckConstraint, ForeignKey, Index, Numeric, text
from sqlalchemy.orm import Mapped, mapped_column

from app.db.base import Base, Identified, Timestamped, team_key, team_link, text_enum

USD = Numeric(14, 6)


class AccountKind(StrEnum):
    TEAM_DAY = "team_day"
    TEAM_MONTH = "team_month"
    COLLABORATION = "collaboration"
    TASK = "task"


OF_TEAM = frozenset({AccountKind.TEAM_DAY, AccountKind.TEAM_MONTH})


class BudgetAccount(Identified, Timestamped, Base):
    """One cap. `parent_id` funds it: a task's account by the task above it, by its collaboration session or by the
    team's day, a session's by the task that started it or by the day, a day by its month.

    `granted_to_id` is the agent whose daily allowance pays for it: its key started the work outside any task.
    `held` is what the parent has reserved for it, `settled` what of `spent` has been passed on to the parent.
    """

    __tablename__ = "budget_account"
    __table_args__ = (
        team_key(),
        team_link("parent_id", "budget_account"),
        team_link("granted_to_id", "agent"),
        CheckConstraint(
            "cap >= 0 and held >= 0 and reserved >= 0 and settled >= 0 and spent >= settled", name="not_negative"
        ),
        CheckConstraint("(kind in ('task', 'collaboration')) = (period is null)", name="period"),
        CheckConstraint("(kind = 'team_month') = (parent_id is null)", name="parent"),
        CheckConstraint(
            "closed_at is null or (kind in ('task', 'collaboration') and reserved = 0 and held = 0)", name="closed"
        ),
        Index(
            "uq_budget_account_period",
            "team_id",
            "kind",
            "period",
            unique=True,
            postgresql_where=text("kind <> 'task'"),
        ),
        Index("ix_budget_account_parent_open", "parent_id", postgresql_where=text("closed_at is null")),
        Index(
            "ix_budget_account_granted",
            "granted_to_id",
            "created_at",
            postgresql_where=text("granted_to_id is not null"),
        ),
    )

    team_id: Mapped[UUID] = mapped_column(ForeignKey("team.id"))
    kind: Mapped[AccountKind] = mapped_column(text_enum(AccountKind))
    period: Mapped[date | None]
    parent_id: Mapped[UUID | None]
    granted_to_id: Mapped[UUID | None]
    cap: Mapped[Decimal] = mapped_column(USD)
    held: Mapped[Decimal] = mapped_column(USD, server_default="0")
    reserved: Mapped[Decimal] = mapped_column(USD, server_default="0")
    spent: Mapped[Decimal] = mapped_column(USD, server_default="0")
    settled: Mapped[Decimal] = mapped_column(USD, server_default="0")
    alerted: Mapped[bool] = mapped_column(server_default="false")
    closed_at: Mapped[datetime | None]
