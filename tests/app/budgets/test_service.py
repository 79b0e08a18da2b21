"""Budgets are reservations: no race exceeds a cap by a cent, and a tree's total is the sum of its leaves."""

from __future__ import annotations

import asyncio
from decimal import Decimal

import pytest
from sqlalchemy import select

from app.budgets import service as budgets
from app.budgets.caps import set_team_caps
from app.budgets.errors import BudgetExhausted
from app.budgets.models import AccountKind, BudgetAccount
from app.events.models import Event
from app.tasks.models import Task
from app.teams.models import Team
from tests.fixtures.desk import ACTOR, Desk


async def test_racing_children_never_exceed_the_parents_cap_by_a_cent(desk: Desk) -> None:
    top = await desk.working("kyra", "luke", budget_usd="1")
    for number in range(30):
        await desk.agent(f"child-{number}")

    outcomes = await asyncio.gather(
        *(desk.delegate(None, f"child-{number}", parent=top, budget_usd="0.13") for number in range(30)),
        return_exceptions=True,
    )

    made = [outcome for outcome in outcomes if isinstance(outcome, Task)]
    assert len(made) == 7
    assert sum(isinstance(outcome, BudgetExhausted) for outcome in outcomes) == 23
    assert (await desk.budget(top)).reserved == Decimal("0.91")


async def test_racing_first_tasks_never_exceed_the_teams_day(desk: Desk) -> None:
    await desk.sql("update team set day_budget_usd = 1, month_budget_usd = 100")
    for slug in ("kyra", *(f"worker-{number}" for number in range(20))):
        await desk.agent(slug)

    outcomes = await asyncio.gather(
        *(desk.delegate("kyra", f"worker-{number}", budget_usd="0.3") for number in range(20)), return_exceptions=True
    )

    refused = [outcome for outcome in outcomes if isinstance(outcome, BudgetExhausted)]
    assert len(refused) == 17
    assert {one.details["scope"] for one in refused} == {"TEAM_DAY"}
    assert await _team(desk) == {"team_day": (Decimal("0.9"), 0), "team_month": (Decimal("0.9"), 0)}


async def test_the_month_counts_too_and_a_refusal_leaves_the_day_untouched(desk: Desk) -> None:
    await desk.sql("update team set month_budget_usd = 0.4")
    await desk.delegate("kyra", "luke", budget_usd="0.3")

    with pytest.raises(BudgetExhausted, match="The team's budget of this month"):
        await desk.delegate("kyra", "luke", budget_usd="0.3")

    assert await _team(desk) == {"team_day": (Decimal("0.3"), 0), "team_month": (Decimal("0.3"), 0)}


async def test_a_trees_total_is_the_sum_of_its_leaves(desk: Desk) -> None:
    top = await desk.working("kyra", "luke", budget_usd="2")
    middle = await desk.working(None, "ada", parent=top, budget_usd="1")
    leaf = await desk.working(None, "otto", parent=middle, budget_usd="0.5")
    other = await desk.working(None, "mia", parent=top, budget_usd="0.5")
    await desk.complete(leaf, cost="0.111111")
    await desk.fail(other, may_pass=False, cost="0.05")
    await desk.complete(middle, cost="0.2")
    await desk.complete(top, cost="0.3")

    spent = [(await desk.budget(task)).spent for task in (leaf, middle, other, top)]
    assert spent == [Decimal("0.111111"), Decimal("0.311111"), Decimal("0.05"), Decimal("0.661111")]
    total = Decimal("0.661111")
    assert await _team(desk) == {"team_day": (0, total), "team_month": (0, total)}
    assert await desk.reserved() == 0


async def test_settling_twice_counts_once(desk: Desk) -> None:
    task = await desk.working("kyra", "luke")
    await desk.complete(task, cost="0.1")

    async with desk.transaction() as session:
        await budgets.settle(session, {task.budget_id: Decimal("0.3")})

    assert await _team(desk) == {"team_day": (0, Decimal("0.1")), "team_month": (0, Decimal("0.1"))}


async def test_without_an_amount_a_subtask_gets_the_usual_or_half_of_what_is_left(desk: Desk) -> None:
    top = await desk.working("kyra", "luke", budget_usd="1.2")

    caps = [(await desk.budget(await desk.delegate(None, slug, parent=top))).cap for slug in ("ada", "otto")]
    await desk.sql("update budget_account set reserved = cap where id = :id", id=top.budget_id)
    with pytest.raises(BudgetExhausted):
        await desk.delegate(None, "mia", parent=top)

    assert caps == [Decimal("0.5"), Decimal("0.35")]


async def test_a_cost_beyond_the_budget_is_counted_and_fails_the_task(desk: Desk) -> None:
    task = await desk.working("kyra", "luke", budget_usd="0.1")

    answered = await desk.complete(task, cost="0.11")

    assert (answered.status.value, answered.error_code) == ("failed", "LIMIT_EXCEEDED")
    assert await _team(desk) == {"team_day": (0, Decimal("0.11")), "team_month": (0, Decimal("0.11"))}


async def test_a_team_is_warned_once_near_its_cap(desk: Desk) -> None:
    await desk.sql("update team set day_budget_usd = 1")
    for slug in ("luke", "ada", "otto"):
        await desk.delegate("kyra", slug, budget_usd="0.3")

    async with desk.transaction() as session:
        told = list(await session.scalars(select(Event).where(Event.kind == "budget.near_cap")))
    assert [event.changes for event in told] == [{"scope": "TEAM_DAY", "cap": 1.0, "reserved": 0.9, "spent": 0.0}]


async def set_caps(desk: Desk, **own: Decimal | None) -> None:
    kinds = {AccountKind(f"team_{name}"): cap for name, cap in own.items()}
    async with desk.transaction() as session:
        await set_team_caps(session, team_id=desk.team_id, own=kinds, settings=desk.settings, actor=ACTOR)


async def test_new_caps_count_at_once_and_may_lie_below_what_is_reserved(desk: Desk) -> None:
    await set_caps(desk, day=Decimal(1))
    task = await desk.working("kyra", "luke", budget_usd="0.9")
    await set_caps(desk, day=Decimal("0.5"), month=Decimal(3))

    with pytest.raises(BudgetExhausted) as refused:
        await desk.delegate("kyra", "luke", budget_usd="0.01")
    await desk.complete(task, cost="0.4")
    await desk.delegate("kyra", "luke", budget_usd="0.1")
    await set_caps(desk, day=None)
    await set_caps(desk, day=None)

    assert (refused.value.details["scope"], refused.value.details["cap"]) == ("TEAM_DAY", Decimal("0.5"))
    async with desk.transaction() as session:
        caps = await session.execute(
            select(BudgetAccount.kind, BudgetAccount.cap).where(BudgetAccount.period.is_not(None))
        )
        told = await session.scalars(
            select(Event.changes).where(Event.kind == "team.budgets_changed").order_by(Event.position, Event.id)
        )
        assert {kind: cap for kind, cap in caps} == {AccountKind.TEAM_DAY: 50, AccountKind.TEAM_MONTH: 3}
        assert list(told) == [
            {"dayBudgetUsd": 1.0}, {"dayBudgetUsd": 0.5, "monthBudgetUsd": 3.0}, {"dayBudgetUsd": None},
        ]  # fmt: skip


async def test_room_that_runs_short_again_is_told_again(desk: Desk) -> None:
    await set_caps(desk, day=Decimal(1))
    await desk.delegate("kyra", "luke", budget_usd="0.9")
    await set_caps(desk, day=Decimal(9))
    await set_caps(desk, day=Decimal(1))

    async with desk.transaction() as session:
        told = list(await session.scalars(select(Event).where(Event.kind == "budget.near_cap")))
    assert [(event.changes["cap"], event.changes["reserved"]) for event in told] == [(1.0, 0.9), (1.0, 0.9)]


async def test_no_race_leaves_a_cap_that_is_gone(desk: Desk) -> None:
    """Whoever delegates has reserved before the new cap is set, or reads the new one."""
    workers = [f"worker-{number}" for number in range(10)]
    for slug in ("kyra", *workers):
        await desk.agent(slug)

    await asyncio.gather(
        *(desk.delegate("kyra", slug, budget_usd="0.3") for slug in workers),
        *(set_caps(desk, day=Decimal(cap)) for cap in (3, 2, 1)),
        return_exceptions=True,
    )
    reserved, _ = (await _team(desk))["team_day"]
    await asyncio.gather(*(desk.delegate("kyra", slug, budget_usd="0.3") for slug in workers), return_exceptions=True)

    async with desk.transaction() as session:
        own = await session.scalar(select(Team.day_budget_usd))
        shown = await session.scalar(select(BudgetAccount.cap).where(BudgetAccount.kind == AccountKind.TEAM_DAY))
    assert own == shown
    assert own in {3, 2, 1}
    assert (await _team(desk))["team_day"][0] <= max(own, reserved)


async def _team(desk: Desk) -> dict[str, tuple[Decimal, Decimal]]:
    """Reserved and spent of the team's day and month."""
    async with desk.transaction() as session:
        found = await session.scalars(select(BudgetAccount).where(BudgetAccount.kind != AccountKind.TASK))
        return {account.kind.value: (account.reserved, account.spent) for account in found}
