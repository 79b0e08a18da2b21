"""Costs that agents report beyond their budgets are claimed, not booked; people decide, and admins correct them."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from sqlalchemy import select

from app.attention.models import AttentionItem, AttentionKind, AttentionState
from app.budgets.models import AccountKind, BudgetAccount
from app.errors import Forbidden, InvalidInput, NotFound
from app.events.models import Event
from app.ids import new_id
from app.interventions.answering import Answer, answer
from app.interventions.corrections import correct_task_cost
from app.tasks import transitions
from app.tasks.failures import Usage
from app.tasks.models import Task, TaskStatus
from tests.fixtures.desk import ACTOR, Desk


async def report(desk: Desk, task: Task, cost: str) -> Task:
    """As an agent's own program does."""
    async with desk.transaction() as session:
        return await transitions.heartbeat(
            session,
            team_id=desk.team_id,
            task_id=task.id,
            claim_token=task.claim_token,
            lease_s=30,
            usage=Usage(cost=Decimal(cost), self_reported=True),
            actor=ACTOR,
        )


async def spent(desk: Desk, kind: AccountKind = AccountKind.TEAM_MONTH) -> Decimal:
    async with desk.transaction() as session:
        return (await session.scalars(select(BudgetAccount.spent).where(BudgetAccount.kind == kind))).one()


async def claims(desk: Desk) -> list[AttentionItem]:
    async with desk.transaction() as session:
        items = select(AttentionItem).where(AttentionItem.kind == AttentionKind.COST_CLAIM).order_by(AttentionItem.id)
        return list(await session.scalars(items))


async def decide(desk: Desk, item: AttentionItem, option: str, *, may_configure: bool = True) -> None:
    async with desk.transaction() as session:
        given = Answer(option, "So be it.", may_configure=may_configure)
        await answer(session, team_id=desk.team_id, item_id=item.id, given=given, settings=desk.settings, actor=ACTOR)


async def correct(desk: Desk, task: Task, cost: str, reason: str = "the invoice") -> Task:
    async with desk.transaction() as session:
        return await correct_task_cost(
            session, team_id=desk.team_id, task_id=task.id, cost=Decimal(cost), reason=reason, actor=ACTOR
        )


async def test_what_is_reported_beyond_the_budget_is_claimed_and_fails_the_task(desk: Desk) -> None:
    task = await desk.working("kyra", "luke", budget_usd="0.5")
    await desk.delegate(None, "ada", parent=task, budget_usd="0.1")
    await report(desk, task, "0.2")

    ended = await report(desk, task, "1000000")

    assert (ended.status, ended.error_code) == (TaskStatus.FAILED, "LIMIT_EXCEEDED")
    assert (ended.cost, ended.claimed_cost) == (Decimal("0.4"), Decimal("999999.6")), "0.1 was reserved below it"
    assert await spent(desk) == await spent(desk, AccountKind.TEAM_DAY) == Decimal("0.4")
    (item,) = await claims(desk)
    assert (item.task_id, item.agent_id, item.options) == (task.id, task.assignee_id, ["book", "dismiss"])
    assert await desk.reserved() == 0


async def test_a_person_books_or_dismisses_a_claim_once(desk: Desk) -> None:
    tasks = [await desk.working("kyra", slug, budget_usd="0.1") for slug in ("luke", "ada")]
    for task in tasks:
        await report(desk, task, "0.7")
    first, second = await claims(desk)

    with pytest.raises(Forbidden):
        await decide(desk, first, "book", may_configure=False)
    assert await spent(desk) == Decimal("0.2")
    await decide(desk, first, "book")
    await decide(desk, second, "dismiss", may_configure=False)

    assert await spent(desk) == Decimal("0.8")
    assert [(task.cost, task.claimed_cost) for task in [await desk.read(task) for task in tasks]] == [
        (Decimal("0.7"), 0), (Decimal("0.1"), 0),
    ]  # fmt: skip
    assert {item.state for item in await claims(desk)} == {AttentionState.ANSWERED}


async def test_an_admin_corrects_a_cost_in_every_account_above_it(desk: Desk) -> None:
    """The task above is still open: it passes the correction on when it ends, and not before."""
    top = await desk.working("kyra", "luke", budget_usd="2")
    below = await desk.working(None, "ada", parent=top, budget_usd="1")
    await desk.complete(below, cost="0.9")
    await correct(desk, below, "0.3")
    assert ((await desk.budget(below)).spent, (await desk.budget(top)).spent) == (Decimal("0.3"), Decimal("0.3"))
    assert await spent(desk) == 0
    await desk.complete(top, cost="0.1")
    assert await spent(desk) == Decimal("0.4")

    await correct(desk, below, "0.5")
    await correct(desk, top, "0")

    assert await spent(desk) == await spent(desk, AccountKind.TEAM_DAY) == Decimal("0.5")
    assert (await desk.budget(top)).spent == Decimal("0.5")
    async with desk.transaction() as session:
        told = await session.scalars(
            select(Event.changes).where(Event.kind == "task.cost_corrected").order_by(Event.position, Event.id)
        )
        figures = [(one["before"], one["cost"], one["reason"]) for one in told]
    assert figures == [(0.9, 0.3, "the invoice"), (0.3, 0.5, "the invoice"), (0.1, 0.0, "the invoice")]


async def test_a_correction_brings_a_month_back_that_a_wrong_cost_had_ended(desk: Desk) -> None:
    await desk.sql("update team set month_budget_usd = 1")
    task = await desk.working("kyra", "luke", budget_usd="0.5")
    await desk.complete(task, cost="900")

    await correct(desk, task, "0.2")

    await desk.delegate("kyra", "luke", budget_usd="0.5")
    assert await spent(desk) == Decimal("0.2")
    async with desk.transaction() as session:
        raises = select(AttentionItem.state).where(AttentionItem.kind == AttentionKind.BUDGET_RAISE)
        assert AttentionState.OPEN not in set(await session.scalars(raises))


async def test_a_reopened_task_is_corrected_below_what_it_had_passed_on(desk: Desk) -> None:
    task = await desk.working("kyra", "luke", budget_usd="0.5")
    await desk.fail(task, may_pass=False, cost="0.3")
    await desk.sql("update budget_account set closed_at = null, held = 0.2 where id = :id", id=task.budget_id)
    await desk.sql("update budget_account set reserved = 0.2 where kind <> 'task'")

    await correct(desk, task, "0.1")

    account = await desk.budget(task)
    assert (account.spent, account.settled, await spent(desk)) == (Decimal("0.1"), Decimal("0.1"), Decimal("0.1"))


@pytest.mark.parametrize(
    ("cost", "reason", "refusal"),
    [("-1", "why", InvalidInput), ("1000001", "why", InvalidInput), ("0.1", " ", InvalidInput)],
)
async def test_a_wrong_correction_changes_nothing(desk: Desk, cost: str, reason: str, refusal: Any) -> None:
    task = await desk.working("kyra", "luke")
    await desk.complete(task, cost="0.2")

    with pytest.raises(refusal):
        await correct(desk, task, cost, reason)
    with pytest.raises(NotFound):
        await correct(desk, Task(id=new_id()), "0.1")

    assert ((await desk.read(task)).cost, await spent(desk)) == (Decimal("0.2"), Decimal("0.2"))
