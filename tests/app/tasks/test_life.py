"""The life of a task: delegated, claimed, worked on, ended once, told at every step."""

from __future__ import annotations

import asyncio
from decimal import Decimal
from uuid import uuid4

import pytest

from app.agents.models import AgentStatus
from app.errors import Conflict
from app.tasks.errors import ClaimLost
from app.tasks.models import Task, TaskStatus
from app.tasks.sweeper import sweep
from tests.fixtures.desk import Desk


async def test_a_task_is_delegated_claimed_reported_on_and_completed(desk: Desk) -> None:
    task = await desk.working("kyra", "luke", title="Compare caches", budget_usd="0.2")
    await desk.heartbeat(task, "halfway", cost="0.01", tokens=100)
    await desk.complete(task, "Valkey.", cost="0.03", tokens=900)

    done = await desk.read(task)
    assert (done.status, done.result, done.progress) == (TaskStatus.COMPLETED, "Valkey.", "halfway")
    assert (done.depth, done.attempts_made, done.tokens_used, done.cost) == (1, 1, 900, Decimal("0.03"))
    assert done.finished_at is not None
    assert await desk.kinds(task) == ["task.created", "task.claimed", "task.progressed", "task.completed"]
    assert (await desk.budget(task)).spent == Decimal("0.03")
    assert await desk.reserved() == 0


async def test_each_of_ten_tasks_goes_to_one_of_twenty_claimers(desk: Desk) -> None:
    made = [await desk.delegate("kyra", f"worker-{number % 2}") for number in range(10)]

    claimed = await asyncio.gather(*(desk.claim(f"worker-{number % 2}") for number in range(20)))

    taken = [task.id for task in claimed if task is not None]
    assert sorted(taken) == sorted(task.id for task in made)


@pytest.mark.parametrize("verb", ["complete", "fail", "heartbeat"])
async def test_a_stale_claim_changes_nothing(desk: Desk, verb: str) -> None:
    stale = await desk.working("kyra", "luke")
    await desk.sql("update task set lease_until = now() - interval '1 s'")
    assert await sweep(desk.transaction) == 1
    await desk.make_ready()
    current = await desk.claim("luke")
    before = await desk.kinds(stale)

    with pytest.raises(ClaimLost):
        await getattr(desk, verb)(stale)

    assert await desk.kinds(stale) == before
    assert await desk.status(stale) == ["in_progress"]
    assert current is not None
    await desk.complete(current)


async def test_a_made_up_claim_is_refused(desk: Desk) -> None:
    task = await desk.working("kyra", "luke")
    task.claim_token = uuid4()

    with pytest.raises(ClaimLost):
        await desk.complete(task)


async def test_of_twenty_completions_at_once_one_counts(desk: Desk) -> None:
    task = await desk.working("kyra", "luke")

    outcomes = await asyncio.gather(*(desk.complete(task, cost="0.1") for _ in range(20)), return_exceptions=True)

    assert sum(isinstance(outcome, Task) for outcome in outcomes) == 1
    assert sum(isinstance(outcome, ClaimLost) for outcome in outcomes) == 19
    assert (await desk.budget(task)).spent == Decimal("0.1")


async def test_a_paused_agent_gets_no_work(desk: Desk) -> None:
    await desk.delegate("kyra", "luke")
    await desk.set_status("luke", AgentStatus.PAUSED)

    assert await desk.claim("luke") is None


async def test_urgent_overtakes_a_backlog_and_low_is_not_forgotten(desk: Desk) -> None:
    old_low = await desk.delegate("kyra", "luke", priority="low")
    normal = await desk.delegate("kyra", "luke")
    urgent = await desk.delegate("kyra", "luke", priority="urgent")
    await desk.sql("update task set due_at = due_at - interval '71 min' where id = :id", id=old_low.id)

    order = [await desk.claim("luke") for _ in range(3)]

    assert [task.id for task in order if task] == [old_low.id, urgent.id, normal.id]


async def test_cancelling_a_tree_stops_all_of_it_and_gives_everything_back(desk: Desk) -> None:
    top = await desk.working("kyra", "luke", budget_usd="1")
    middle = await desk.working(None, "ada", parent=top, budget_usd="0.5")
    leaf = await desk.working(None, "otto", parent=middle, budget_usd="0.2")
    idle = await desk.delegate(None, "mia", parent=top, budget_usd="0.3")
    await desk.heartbeat(leaf, cost="0.05")

    await desk.cancel(top)

    assert await desk.status(top, middle, leaf, idle) == ["cancelled"] * 4
    assert await desk.reserved() == 0
    assert (await desk.budget(top)).spent == Decimal("0.05")
    assert await desk.kinds(leaf) == ["task.created", "task.claimed", "task.cancelled"]
    with pytest.raises(ClaimLost):
        await desk.complete(leaf)
    with pytest.raises(Conflict):
        await desk.cancel(top)


async def test_a_task_that_completes_cancels_what_it_left_open(desk: Desk) -> None:
    top = await desk.working("kyra", "luke")
    forgotten = await desk.working(None, "ada", parent=top)

    await desk.complete(top)

    assert await desk.status(top, forgotten) == ["completed", "cancelled"]
    assert (await desk.read(forgotten)).error_code == "PARENT_ENDED"


async def test_a_child_cannot_slip_below_a_parent_that_is_being_cancelled(desk: Desk) -> None:
    top = await desk.working("kyra", "luke", budget_usd="1")

    outcomes = await asyncio.gather(
        *(desk.delegate(None, f"child-{number}", parent=top, budget_usd="0.01") for number in range(15)),
        desk.cancel(top),
        return_exceptions=True,
    )

    assert all(isinstance(outcome, Task | Conflict) for outcome in outcomes), outcomes
    assert await desk.open_count() == 0
    assert await desk.reserved() == 0


async def test_too_many_tokens_fail_the_task_for_good_and_are_counted(desk: Desk) -> None:
    task = await desk.working("kyra", "luke", max_tokens=100)

    answered = await desk.complete(task, tokens=101)

    assert answered.status is TaskStatus.FAILED
    assert (answered.error_code, answered.tokens_used, answered.result) == ("LIMIT_EXCEEDED", 101, None)
    assert len(await desk.letters()) == 1
