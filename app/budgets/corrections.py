"""Corrects what an account has spent, and every account above it that has counted the difference."""

from __future__ import annotations

from decimal import Decimal
from uuid import UUID

from sqlalchemy import func, select, update
from sqlalchemy.ext.asyncio import AsyncSession

from app.attention import service as attention
from app.budgets.models import OF_TEAM, BudgetAccount
from app.budgets.near_cap import NEAR, warn_near_cap
from app.events.log import Actor


async def correct_spent(session: AsyncSession, *, account_id: UUID, difference: Decimal, actor: Actor) -> None:
    """Adds the difference, which may be negative. An open account passes on nothing before it is settled, except what
    would leave it with less spent than it has passed on."""
    account = await _lock(session, account_id)
    while account.kind not in OF_TEAM:
        is_closed = account.closed_at is not None
        passed = difference if is_closed else min(account.spent + difference - account.settled, Decimal(0))
        await _add(session, account, spent=difference, settled=passed)
        if not passed:
            return
        difference = passed
        assert account.parent_id is not None
        account = await _next(session, account.parent_id)
    await _correct_team(session, account, difference, actor)


async def _correct_team(session: AsyncSession, day: BudgetAccount, difference: Decimal, actor: Actor) -> None:
    """The month is locked before the day, as by every reservation."""
    assert day.parent_id is not None
    for account in (await _lock(session, day.parent_id), await _lock(session, day.id)):
        await _add(session, account, spent=difference, settled=Decimal(0))
        corrected = await _lock(session, account.id)
        if corrected.alerted and corrected.reserved + corrected.spent < corrected.cap * NEAR:
            await session.execute(update(BudgetAccount).where(BudgetAccount.id == account.id).values(alerted=False))
            await attention.withdraw_of_budget(session, account.id, actor=actor)
        await warn_near_cap(session, corrected)


async def _add(session: AsyncSession, account: BudgetAccount, *, spent: Decimal, settled: Decimal) -> None:
    changes = {"spent": BudgetAccount.spent + spent, "settled": BudgetAccount.settled + settled}
    statement = update(BudgetAccount).where(BudgetAccount.id == account.id)
    await session.execute(
        statement.values(**changes, updated_at=func.now()), execution_options={"synchronize_session": False}
    )


async def _next(session: AsyncSession, account_id: UUID) -> BudgetAccount:
    """A team's day is not locked yet: its month comes first."""
    account = (await session.scalars(select(BudgetAccount).where(BudgetAccount.id == account_id))).one()
    return account if account.kind in OF_TEAM else await _lock(session, account_id)


async def _lock(session: AsyncSession, account_id: UUID) -> BudgetAccount:
    statement = select(BudgetAccount).where(BudgetAccount.id == account_id).with_for_update(key_share=True)
    return (await session.scalars(statement.execution_options(populate_existing=True))).one()
