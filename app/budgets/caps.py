"""What a team may spend in a day and a month: its own caps, or the installation's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from uuid import UUID

from sqlalchemy import ColumnElement, func, update
from sqlalchemy.ext.asyncio import AsyncSession

from app.attention import service as attention
from app.budgets.models import AccountKind, BudgetAccount
from app.budgets.near_cap import NEAR, RAISE, warn_near_cap
from app.clock import now
from app.config import Settings
from app.events.log import Actor
from app.teams import service as teams
from app.teams.models import Team

_COLUMN = {AccountKind.TEAM_DAY: "day_budget_usd", AccountKind.TEAM_MONTH: "month_budget_usd"}


@dataclass(frozen=True, slots=True)
class TeamCaps:
    """What a team may spend in US dollars."""

    day: Decimal
    month: Decimal


def caps_of(team: Team, settings: Settings) -> TeamCaps:
    """The team's own caps; where it has none, the installation's."""
    return TeamCaps(
        day=settings.team_day_budget_usd if team.day_budget_usd is None else team.day_budget_usd,
        month=settings.team_month_budget_usd if team.month_budget_usd is None else team.month_budget_usd,
    )


async def set_team_caps(
    session: AsyncSession,
    *,
    team_id: UUID,
    own: Mapping[AccountKind, Decimal | None],
    actor: Actor,
    settings: Settings | None = None,
) -> Team:
    """Set the team's own caps for a day and a month; None: the installation's count again. They count at once.

    A cap below what is spent or reserved is taken: work under way goes on, new work is refused. Without the settings,
    an account whose cap goes back to the installation's shows it only when the next task reserves.
    """
    team = await teams.lock(session, team_id)
    changes = {_COLUMN[kind]: cap for kind, cap in own.items()}
    if await teams.set_budgets(session, team=team, changes=changes, actor=actor):
        usual = None if settings is None else caps_of(team, settings)
        day, month = (usual.day, usual.month) if usual else (team.day_budget_usd, team.month_budget_usd)
        today = now().date()
        await _recap(session, team_id, AccountKind.TEAM_MONTH, today.replace(day=1), month, actor)
        await _recap(session, team_id, AccountKind.TEAM_DAY, today, day, actor)
    return team


async def _recap(
    session: AsyncSession, team_id: UUID, kind: AccountKind, period: date, cap: Decimal | None, actor: Actor
) -> None:
    """A new cap for an open account. Where it leaves room again, the next time that room runs short is told anew."""
    if cap is None:
        return
    used = BudgetAccount.reserved + BudgetAccount.spent
    account = await session.scalar(
        update(BudgetAccount)
        .where(of_period(team_id, kind, period))
        .values(cap=cap, alerted=BudgetAccount.alerted & (used >= cap * NEAR), updated_at=func.now())
        .returning(BudgetAccount)
        .execution_options(populate_existing=True)
    )
    if account is not None:
        if not account.alerted:
            await attention.close_of_budget(session, account.id, option=RAISE, actor=actor)
        await warn_near_cap(session, account)


def of_period(team_id: UUID, kind: AccountKind, period: date) -> ColumnElement[bool]:
    return (
        (BudgetAccount.team_id == team_id)
        & (BudgetAccount.kind == kind)
        & (BudgetAccount.kind != AccountKind.TASK)
        & (BudgetAccount.period == period)
    )
