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

# Closes accounts. Work that they fund and that goes on (a session, a report, an answer) is paid from then on by whoever
# funds them: its reservation stays, and so does the allowance that it counts for. Returns the funders, with how much
# comes back to each and how much was spent: the task above, the session, or the team's month and day. `level` is the
# order in which these are locked; what is funded is locked before what funds it. The new values come from the locked
# rows: Postgres checks constraints before it notices that a row has changed since the statement began.
_CLOSE = text("""
with requested as (
    select * from unnest(cast(:ids as uuid[]), cast(:costs as numeric[])) as request(id, cost)
), going_on as (
    select id, parent_id, held from budget_account
    where parent_id = any(cast(:ids as uuid[])) and closed_at is null order by id desc for no key update
), closing as (
    select id, parent_id, granted_to_id, held, reserved, spent + cost as spent, spent + cost - settled as due
    from budget_account join requested using (id) cross join (select count(*) from going_on) as locked_first
    where closed_at is null order by id for no key update of budget_account
), moved as (
    update budget_account as child set parent_id = closing.parent_id, updated_at = now(),
        granted_to_id = coalesce(child.granted_to_id, closing.granted_to_id)
    from going_on join closing on closing.id = going_on.parent_id where child.id = going_on.id
), carried as (
    select closing.id, coalesce(sum(going_on.held), 0) as held
    from closing left join going_on on going_on.parent_id = closing.id group by closing.id
), closed as (
    update budget_account as account
    set spent = closing.spent, settled = closing.spent, held = 0, reserved = closing.reserved - carried.held,
        closed_at = now(), updated_at = now()
    from closing join carried using (id) where account.id = closing.id
), funding as (
    select funder.id, case when funder.kind in ('task', 'collaboration') then 1 else 3 end as level,
        funder.parent_id as month, sum(closing.held - carried.held) as held, sum(due) as due
    from closing join carried using (id) join budget_account as funder on funder.id = closing.parent_id
    group by funder.id
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


@dataclass(frozen=True, slots=True)
class Funding:
    """`funder_id` is the account of a task or session; without one the team's day funds it."""

    funder_id: UUID | None
    granted_to: UUID | None
    cap: Decimal
    unspent: Decimal


async def open_for_team(
    session: AsyncSession, *, team_id: UUID, caps: TeamCaps, amount: Decimal, granted_to: UUID | None = None
) -> UUID:
    """An account for a first task, carved from the team's day and month; raises BudgetExhausted. `granted_to` is the
    agent whose allowance it counts for."""
    opened = await draw_up_for_team(session, team_id=team_id, caps=caps, amount=amount, granted_to=granted_to)
    await fund(session, opened)
    return opened.account_id


async def draw_up_for_team(
    session: AsyncSession, *, team_id: UUID, caps: TeamCaps, amount: Decimal, granted_to: UUID | None = None
) -> Unfunded:
    """An account for a first task, for which `fund` has still to reserve before the transaction ends. All work of a
    team takes turns at the accounts of its day and month: what can be done before is to be done before."""
    month, day = await _team_accounts(session, team_id, caps)
    return Unfunded(await _insert(session, team_id, day, amount, granted_to=granted_to), month, day, amount, caps)


async def fund(session: AsyncSession, opened: Unfunded) -> None:
    """Raises BudgetExhausted; then nothing of the transaction may stay."""
    await _reserve(session, opened.month_id, opened.amount, opened.caps.month)
    await _reserve(session, opened.day_id, opened.amount, opened.caps.day)


async def open_for_session(
    session: AsyncSession, *, team_id: UUID, caps: TeamCaps, amount: Decimal, granted_to: UUID | None = None
) -> UUID:
    """An account for a collaboration session, carved from the team's day and month; raises BudgetExhausted."""
    day = await _reserve_from_team(session, team_id, caps, amount)
    return await _insert(session, team_id, day, amount, AccountKind.COLLABORATION, granted_to)


async def enlarge(session: AsyncSession, *, account_id: UUID, amount: Decimal, caps: TeamCaps) -> None:
    """Add to a session's account, from the task or from the day and month that fund it; raises BudgetExhausted."""
    account = await _locked(session, account_id)
    funder = await _read(session, account.parent_id)
    if funder.kind in OF_TEAM:
        assert funder.parent_id is not None
        await _reserve(session, funder.parent_id, amount, caps.month)
        await _reserve(session, funder.id, amount, caps.day)
    else:
        await _reserve(session, funder.id, amount)
    more = {"cap": BudgetAccount.cap + amount, "held": BudgetAccount.held + amount, "updated_at": func.now()}
    await session.execute(update(BudgetAccount).where(BudgetAccount.id == account_id).values(more))


async def open_below(
    session: AsyncSession,
    *,
    team_id: UUID,
    parent_id: UUID,
    amount: Decimal | None,
    usual: Decimal,
    kind: AccountKind = AccountKind.TASK,
) -> tuple[UUID, Decimal]:
    """An account carved from another task's, and how much it holds. Without an amount it gets the usual one, or half of
    what is left if that is less: something stays for the parent itself and for its next subtask."""
    if amount is None:
        parent = await _locked(session, parent_id)
        half = ((parent.cap - parent.reserved - parent.spent) / 2).quantize(CENT, ROUND_DOWN)
        amount = min(usual, half) if half > 0 else usual
    await _reserve(session, parent_id, amount)
    return await _insert(session, team_id, parent_id, amount, kind), amount


async def left(session: AsyncSession, account_id: UUID) -> Decimal:
    """What may still be spent; negative when more was spent than that."""
    account = await _read(session, account_id)
    return account.cap - account.reserved - account.spent


async def spent(session: AsyncSession, account_id: UUID) -> Decimal:
    """What was spent, with the totals of what it funded and that has ended."""
    return (await _read(session, account_id)).spent


async def funding_of(session: AsyncSession, account_id: UUID) -> Funding:
    """Who funds an account now, and what is left of it."""
    account = await _read(session, account_id)
    funder = await _read(session, account.parent_id)
    unspent = max(account.cap - account.spent, Decimal(0))
    funder_id = None if funder.kind in OF_TEAM else funder.id
    return Funding(funder_id, account.granted_to_id, account.cap, unspent)


async def charge(session: AsyncSession, account_id: UUID, amount: Decimal) -> None:
    """Add a real cost, whatever the cap says."""
    mine = update(BudgetAccount).where(BudgetAccount.id == account_id)
    await session.execute(mine.values(spent=BudgetAccount.spent + amount, updated_at=func.now()))


async def settle(session: AsyncSession, costs: Mapping[UUID, Decimal]) -> None:
    """Add a last cost to each account, pass on what was spent, give back the rest and close. An account that is closed
    already stays as it is."""
    for level in await _levels(session, list(costs)):
        given = {"ids": level, "costs": [costs[account_id] for account_id in level]}
        shares = (await session.execute(_CLOSE, given)).all()
        # Accounts are made after those that fund them, so the newest first is the way up.
        for share in sorted(shares, key=lambda share: (share.level, -share.id.int)):
            await session.execute(_PASS_ON, {"id": share.id, "held": share.held, "due": share.due})


async def _levels(session: AsyncSession, ids: list[UUID]) -> list[list[UUID]]:
    """The accounts in an order in which none is closed before one that it funds."""
    if len(ids) < 2:
        return [ids] if ids else []
    funders = select(BudgetAccount.id, BudgetAccount.parent_id).where(BudgetAccount.id.in_(ids))
    parents = {account_id: parent_id for account_id, parent_id in await session.execute(funders)}
    levels: list[list[UUID]] = []
    while parents:
        funding = set(parents.values())
        levels.append([account_id for account_id in parents if account_id not in funding])
        parents = {account_id: parent_id for account_id, parent_id in parents.items() if account_id in funding}
    return levels


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
    session: AsyncSession,
    team_id: UUID,
    parent_id: UUID,
    amount: Decimal,
    kind: AccountKind = AccountKind.TASK,
    granted_to: UUID | None = None,
) -> UUID:
    made = new_id()
    row = {"id": made, "team_id": team_id, "kind": kind, "parent_id": parent_id, "granted_to_id": granted_to}
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
