"""Reserves money before work is dispatched, charges what it costs, and settles when it ends.

Each reservation is one conditional update, so no race exceeds a cap. Accounts are locked upwards: a task's own, those
of the tasks above it, its session's, the team's month, its day. Whoever also locks the team, tasks or agents does so
before.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from decimal import ROUND_DOWN, Decimal
from uuid import UUID

from sqlalchemy import func, literal, select, text, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncSession

from app.budgets.caps import TeamCaps, of_period
from app.budgets.errors import BudgetExhausted
from app.budgets.models import OF_TEAM, USD, AccountKind, BudgetAccount
from app.budgets.near_cap import warn_near_cap
from app.clock import now
from app.ids import new_id

# Whoever has reserved for the closed accounts, with how much comes back and how much was spent: the task above, the
# session, or the team's month and day. `level` is the order in which these are locked.
_CLOSE = text("""
with wanted as (
    select * from unnest(cast(:ids as uuid[]), cast(:costs as numeric[])) as one(id, cost)
), closing as (
    select id, parent_id, held, spent + cost - settled as due, cost
    from budget_account join wanted using (id) where closed_at is null order by id for no key update of budget_account
), closed as (
    update budget_account as account
    set spent = spent + cost, held = 0, settled = spent + cost, closed_at = now(), updated_at = now()
    from closing where account.id = closing.id
), funding as (
    select funder.id, case when funder.kind in ('task', 'collaboration') then 1 else 3 end as level,
        funder.parent_id as month, sum(closing.held) as held, sum(due) as due
    from closing join budget_account as funder on funder.id = closing.parent_id group by funder.id
)
select id, level, held, due from funding
union all select month, 2, sum(held), sum(due) from funding where level = 3 group by month
""")
_PASS_ON = text("""
update budget_account set reserved = reserved - :held, spent = spent + :due, updated_at = now() where id = :id
""")
CENT = Decimal("0.000001")  # the smallest amount that is kept


@dataclass(frozen=True, slots=True)
class Unfunded:
    """An account that is written down, and what is still to be reserved for it."""

    account_id: UUID
    month_id: UUID
    day_id: UUID
    amount: Decimal
    caps: TeamCaps


async def open_for_team(session: AsyncSession, *, team_id: UUID, caps: TeamCaps, amount: Decimal) -> UUID:
    """An account for a first task, carved from the team's day and month; raises BudgetExhausted."""
    opened = await draw_up_for_team(session, team_id=team_id, caps=caps, amount=amount)
    await fund(session, opened)
    return opened.account_id


async def draw_up_for_team(session: AsyncSession, *, team_id: UUID, caps: TeamCaps, amount: Decimal) -> Unfunded:
    """An account for a first task, for which `fund` has still to reserve before the transaction ends. All work of a
    team takes turns at the accounts of its day and month: what can be done before is to be done before."""
    month, day = await _team_accounts(session, team_id, caps)
    return Unfunded(await _insert(session, team_id, day, amount), month, day, amount, caps)


async def fund(session: AsyncSession, opened: Unfunded) -> None:
    """Raises BudgetExhausted; then nothing of the transaction may stay."""
    await _reserve(session, opened.month_id, opened.amount, opened.caps.month)
    await _reserve(session, opened.day_id, opened.amount, opened.caps.day)


async def open_for_session(session: AsyncSession, *, team_id: UUID, caps: TeamCaps, amount: Decimal) -> UUID:
    """An account for a collaboration session, carved from the team's day and month; raises BudgetExhausted."""
    day = await _reserve_from_team(session, team_id, caps, amount)
    return await _insert(session, team_id, day, amount, AccountKind.COLLABORATION)


async def enlarge(session: AsyncSession, *, account_id: UUID, amount: Decimal, caps: TeamCaps) -> None:
    """Add to a session's account, from the day and month that fund it; raises BudgetExhausted."""
    account = await _locked(session, account_id)
    day = await _read(session, account.parent_id)
    assert day.parent_id is not None
    await _reserve(session, day.parent_id, amount, caps.month)
    await _reserve(session, day.id, amount, caps.day)
    more = {"cap": BudgetAccount.cap + amount, "held": BudgetAccount.held + amount, "updated_at": func.now()}
    await session.execute(update(BudgetAccount).where(BudgetAccount.id == account_id).values(more))


async def open_below(
    session: AsyncSession, *, team_id: UUID, parent_id: UUID, amount: Decimal | None, usual: Decimal
) -> UUID:
    """An account carved from another task's. Without an amount it gets the usual one, or half of what is left if that
    is less: something stays for the parent itself and for its next subtask."""
    if amount is None:
        parent = await _locked(session, parent_id)
        half = ((parent.cap - parent.reserved - parent.spent) / 2).quantize(CENT, ROUND_DOWN)
        amount = min(usual, half) if half > 0 else usual
    await _reserve(session, parent_id, amount)
    return await _insert(session, team_id, parent_id, amount)


async def left(session: AsyncSession, account_id: UUID) -> Decimal:
    """What may still be spent; negative when more was spent than that."""
    account = await _read(session, account_id)
    return account.cap - account.reserved - account.spent


async def spent(session: AsyncSession, account_id: UUID) -> Decimal:
    """What was spent, with the totals of what it funded and that has ended."""
    return (await _read(session, account_id)).spent


async def charge(session: AsyncSession, account_id: UUID, amount: Decimal) -> None:
    """Add a real cost, whatever the cap says."""
    mine = update(BudgetAccount).where(BudgetAccount.id == account_id)
    await session.execute(mine.values(spent=BudgetAccount.spent + amount, updated_at=func.now()))


async def settle(session: AsyncSession, costs: Mapping[UUID, Decimal]) -> None:
    """Add a last cost to each account, pass on what was spent, give back the rest and close. None may fund another of
    them. An account that is closed already stays as it is."""
    shares = (await session.execute(_CLOSE, {"ids": list(costs), "costs": list(costs.values())})).all()
    for share in sorted(shares, key=lambda found: (found.level, found.id)):
        await session.execute(_PASS_ON, {"id": share.id, "held": share.held, "due": share.due})


async def reopen(session: AsyncSession, *, account_id: UUID, caps: TeamCaps) -> None:
    """Reserve what is left of a closed account anew, a first task's from the team's present day and month."""
    account = await _locked(session, account_id)
    left = account.cap - account.spent
    if left <= 0:
        raise _exhausted(account, left)
    parent = await _read(session, account.parent_id)
    parent_id: UUID = parent.id
    if parent.kind not in OF_TEAM:
        await _reserve(session, parent_id, left)
    else:
        parent_id = await _reserve_from_team(session, account.team_id, caps, left)
    await session.execute(
        update(BudgetAccount)
        .where(BudgetAccount.id == account_id)
        .values(parent_id=parent_id, held=left, closed_at=None, updated_at=func.now())
    )


async def _reserve_from_team(session: AsyncSession, team_id: UUID, caps: TeamCaps, amount: Decimal) -> UUID:
    month, day = await _team_accounts(session, team_id, caps)
    await _reserve(session, month, amount, caps.month)
    await _reserve(session, day, amount, caps.day)
    return day


async def _team_accounts(session: AsyncSession, team_id: UUID, caps: TeamCaps) -> tuple[UUID, UUID]:
    """Of the present month and day, made when they are first needed."""
    today = now().date()
    of_month = of_period(team_id, AccountKind.TEAM_MONTH, today.replace(day=1))
    of_day = of_period(team_id, AccountKind.TEAM_DAY, today)
    found = await session.execute(select(BudgetAccount.kind, BudgetAccount.id).where(of_month | of_day))
    ids = {kind: account_id for kind, account_id in found}
    month, day = ids.get(AccountKind.TEAM_MONTH), ids.get(AccountKind.TEAM_DAY)
    if month is None:
        month = await _period(session, team_id, AccountKind.TEAM_MONTH, today.replace(day=1), None, caps.month)
    if day is None:
        day = await _period(session, team_id, AccountKind.TEAM_DAY, today, month, caps.day)
    return month, day


async def _period(
    session: AsyncSession, team_id: UUID, kind: AccountKind, period: date, parent_id: UUID | None, cap: Decimal
) -> UUID:
    """Make the team's account of this day or month, unless another has just done so."""
    row = {"id": new_id(), "team_id": team_id, "kind": kind, "period": period, "parent_id": parent_id, "cap": cap}
    await session.execute(insert(BudgetAccount).values(row).on_conflict_do_nothing())
    found = await session.scalar(select(BudgetAccount.id).where(of_period(team_id, kind, period)))
    assert found is not None
    return found


async def _reserve(session: AsyncSession, account_id: UUID, amount: Decimal, cap: Decimal | None = None) -> None:
    """Set aside, or raise BudgetExhausted. `cap` is the cap as it stands now, where it may have changed."""
    limit = BudgetAccount.cap if cap is None else literal(cap, USD)
    enough = limit - BudgetAccount.reserved - BudgetAccount.spent >= amount
    account = await session.scalar(
        update(BudgetAccount)
        .where(BudgetAccount.id == account_id, BudgetAccount.closed_at.is_(None), enough)
        .values(reserved=BudgetAccount.reserved + amount, cap=limit, updated_at=func.now())
        .returning(BudgetAccount)
        .execution_options(populate_existing=True)
    )
    if account is None:
        raise _exhausted(await _read(session, account_id), amount, cap)
    await warn_near_cap(session, account)


async def _insert(
    session: AsyncSession, team_id: UUID, parent_id: UUID, amount: Decimal, kind: AccountKind = AccountKind.TASK
) -> UUID:
    made = new_id()
    row = {"id": made, "team_id": team_id, "kind": kind, "parent_id": parent_id}
    await session.execute(insert(BudgetAccount).values(**row, cap=amount, held=amount))
    return made


async def _locked(session: AsyncSession, account_id: UUID) -> BudgetAccount:
    statement = select(BudgetAccount).where(BudgetAccount.id == account_id).with_for_update(key_share=True)
    return (await session.scalars(statement.execution_options(populate_existing=True))).one()


async def _read(session: AsyncSession, account_id: UUID | None) -> BudgetAccount:
    statement = select(BudgetAccount).where(BudgetAccount.id == account_id)
    return (await session.scalars(statement.execution_options(populate_existing=True))).one()


def _exhausted(account: BudgetAccount, asked: Decimal, cap: Decimal | None = None) -> BudgetExhausted:
    return BudgetExhausted(
        scope=account.kind,
        cap=account.cap if cap is None else cap,
        reserved=account.reserved,
        spent=account.spent,
        asked=max(asked, Decimal(0)),
    )
