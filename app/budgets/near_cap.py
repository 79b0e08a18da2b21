"""Warns, once for each account, when a team's day or month is near its cap, and asks a person what to do."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal

from sqlalchemy import update
from sqlalchemy.ext.asyncio import AsyncSession

from app.attention import service as attention
from app.attention.models import AttentionKind
from app.attention.service import Subject
from app.budgets.models import OF_TEAM, AccountKind, BudgetAccount
from app.events.kinds import EventKind
from app.events.log import SYSTEM, append

NEAR = Decimal("0.8")  # the share of a team's cap at which an event warns, once for each account
RAISE, LEAVE = "raise", "leave"  # what a person may do about a budget that is near its cap
_PERIOD = {AccountKind.TEAM_DAY: "day", AccountKind.TEAM_MONTH: "month"}


async def warn_near_cap(session: AsyncSession, account: BudgetAccount) -> None:
    used = account.reserved + account.spent
    if account.kind not in OF_TEAM or account.alerted or used < account.cap * NEAR:
        return
    await session.execute(update(BudgetAccount).where(BudgetAccount.id == account.id).values(alerted=True))
    figures = {"cap": account.cap, "reserved": account.reserved, "spent": account.spent}
    append(
        session,
        EventKind.BUDGET_NEAR_CAP,
        team_id=account.team_id,
        actor=SYSTEM,
        changes={"scope": account.kind, **{name: float(figure) for name, figure in figures.items()}},
    )
    attention.open_item(
        session,
        AttentionKind.BUDGET_RAISE,
        team_id=account.team_id,
        title=f"The team's {_PERIOD[account.kind]} is near its budget",
        detail=f"{used:.2f} of {account.cap:.2f} US dollars are spent or reserved. At the cap new work is refused.",
        options=(RAISE, LEAVE),
        subject=Subject(budget_id=account.id),
        deadline=_end_of(account),
        default_answer=LEAVE,
        actor=SYSTEM,
    )


def _end_of(account: BudgetAccount) -> datetime:
    """When a team's day or month is over, and its budget does not matter any more."""
    assert account.period is not None
    first = datetime(account.period.year, account.period.month, account.period.day, tzinfo=UTC)
    if account.kind is AccountKind.TEAM_DAY:
        return first + timedelta(days=1)
    return (first + timedelta(days=31)).replace(day=1)
