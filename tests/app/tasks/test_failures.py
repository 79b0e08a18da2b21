"""Failure: retried twice when it may pass, then a dead letter that a person replays or discards, once."""

from __future__ import annotations

import asyncio
from decimal import Decimal

import pytest
from sqlalchemy import select

from app.errors import Conflict
from app.tasks import dead_letters, revival
from app.tasks.errors import CycleDetected
from app.tasks.models import (
    AttemptOutcome,
    DeadLetter,
    DeadLetterState,
    Task,
    TaskAttempt,
    TaskDependency,
    TaskStatus,
)
from app.tasks.retry_policy import ATTEMPTS
from app.tasks.sweeper import sweep
from tests.fixtures.desk import ACTOR, Desk


async def test_a_lost_attempt_is_retried_twice_then_dead_lettered_then_replayed(desk: Desk) -> None:
    task = await desk.working("kyra", "luke", budget_usd="0.4")
    for attempt in range(1, ATTEMPTS + 1):
        await desk.sql("update task set lease_until = now() - interval '1 s' where status = 'in_progress'")
        assert await sweep(desk.transaction) == 1
        assert await sweep(desk.transaction) == 0
        await desk.make_ready()
        if attempt < ATTEMPTS:
            assert await desk.status(task) == ["pending"]
            assert await desk.claim("luke") is not None

    dead = await desk.read(task)
    assert (dead.status, dead.error_code, dead.attempts_made) == (TaskStatus.FAILED, "LEASE_EXPIRED", 3)
    assert await desk.kinds(task) == [
        "task.created", "task.claimed", "task.requeued", "task.claimed", "task.requeued", "task.claimed",
        "task.failed", "task.dead_lettered",
    ]  # fmt: skip
    assert await desk.reserved() == 0
    (letter,) = await desk.letters()

    await desk.agent("ada")
    replayed = await _replay(desk, letter, {"instructions": "Look it up in the manual."}, "ada")

    (letter,) = await desk.letters()
    assert (letter.state, letter.replay_id, letter.resolved_by) == (DeadLetterState.REPLAYED, replayed.id, "a test")
    assert (replayed.title, replayed.instructions) == (task.title, "Look it up in the manual.")
    assert (await desk.budget(replayed)).cap == Decimal("0.4")
    assert await desk.claim("ada") is not None


async def test_many_sweepers_at_once_end_each_task_once(desk: Desk) -> None:
    tasks = [await desk.working("kyra", f"worker-{number}") for number in range(5)]
    await desk.sql("update task set lease_until = now() - interval '1 s'")

    ended = await asyncio.gather(*(sweep(desk.transaction) for _ in range(8)))

    assert sum(ended) == 5
    for task in tasks:
        assert await desk.kinds(task) == ["task.created", "task.claimed", "task.requeued"]


async def test_a_task_past_its_time_is_timed_out_and_keeps_its_progress(desk: Desk) -> None:
    task = await desk.working("kyra", "luke", timeout_seconds=5)
    await desk.heartbeat(task, "two of three pages", cost="0.02")
    await desk.sql("update task set deadline = now() - interval '1 s'")

    assert await sweep(desk.transaction) == 1

    ended = await desk.read(task)
    assert (ended.status, ended.progress, ended.cost) == (TaskStatus.TIMED_OUT, "two of three pages", Decimal("0.02"))
    assert await desk.reserved() == 0


async def test_a_result_that_comes_too_late_does_not_count(desk: Desk) -> None:
    task = await desk.working("kyra", "luke")
    await desk.sql("update task set deadline = now() - interval '1 s'")

    answered = await desk.complete(task, "late", cost="0.01")

    assert (answered.status, answered.result, answered.cost) == (TaskStatus.TIMED_OUT, None, Decimal("0.01"))


async def test_failure_that_cannot_pass_is_not_retried(desk: Desk) -> None:
    task = await desk.working("kyra", "luke")

    await desk.fail(task, may_pass=False, cost="0.02")

    assert await desk.status(task) == ["failed"]
    assert [letter.reason for letter in await desk.letters()] == ["FAILED: It broke."]


async def test_a_failed_attempt_waits_before_the_next_and_costs_add_up(desk: Desk) -> None:
    task = await desk.working("kyra", "luke")
    await desk.fail(task, cost="0.02")

    assert await desk.claim("luke") is None
    await desk.make_ready()
    again = await desk.claim("luke")
    assert again is not None
    await desk.complete(again, cost="0.03")

    done = await desk.read(task)
    assert (done.cost, done.error_code) == (Decimal("0.05"), None)
    assert await _outcomes(desk, task) == [AttemptOutcome.FAILED, AttemptOutcome.COMPLETED]
    assert (await desk.budget(task)).spent == Decimal("0.05")


async def test_what_a_failed_attempt_delegated_is_cancelled(desk: Desk) -> None:
    top = await desk.working("kyra", "luke")
    below = await desk.working(None, "ada", parent=top)

    await desk.fail(top)

    assert await desk.status(top, below) == ["pending", "cancelled"]


async def test_retry_runs_a_dead_task_again_under_its_own_budget(desk: Desk) -> None:
    task = await desk.working("kyra", "luke", budget_usd="0.5")
    await desk.fail(task, may_pass=False, cost="0.2")

    async with desk.transaction() as session:
        await revival.retry(
            session, team_id=desk.team_id, task_id=task.id, settings=desk.settings, actor=ACTOR, reason="fixed"
        )
    assert await desk.reserved() == Decimal("0.6")  # what is left, at the team's day and month
    again = await desk.claim("luke")
    assert again is not None
    await desk.complete(again, cost="0.1")

    assert (await desk.read(task)).cost == Decimal("0.3")
    assert (await desk.budget(task)).spent == Decimal("0.3")
    assert await desk.reserved() == 0
    assert [letter.state for letter in await desk.letters()] == [DeadLetterState.REPLAYED]


async def test_reassigning_a_running_task_takes_the_claim_away(desk: Desk) -> None:
    task = await desk.working("kyra", "luke")
    ada = await desk.agent("ada")

    async with desk.transaction() as session:
        await revival.reassign(session, team_id=desk.team_id, task_id=task.id, assignee_id=ada.id, actor=ACTOR)

    assert await desk.claim("luke") is None
    taken = await desk.claim("ada")
    assert taken is not None
    await desk.complete(taken)
    assert await _outcomes(desk, task) == [AttemptOutcome.RELEASED, AttemptOutcome.COMPLETED]


async def test_of_ten_who_resolve_a_letter_at_once_one_does(desk: Desk) -> None:
    task = await desk.working("kyra", "luke")
    await desk.fail(task, may_pass=False)
    (letter,) = await desk.letters()

    outcomes = await asyncio.gather(
        *(_replay(desk, letter, {}, None) for _ in range(4)),
        *(_discard(desk, letter) for _ in range(6)),
        return_exceptions=True,
    )

    assert sum(isinstance(outcome, Conflict) for outcome in outcomes) == 9, outcomes
    (letter,) = await desk.letters()
    assert await desk.count() == (2 if letter.state is DeadLetterState.REPLAYED else 1)


async def test_a_retry_is_checked_against_the_chain_as_it_is_now(desk: Desk) -> None:
    """kyra → ben → cleo; the task above goes to cleo, who would then wait for herself."""
    parent = await desk.working("kyra", "ben")
    child = await desk.working(None, "cleo", parent=parent)
    await desk.fail(child, may_pass=False)
    other = await desk.working("kyra", "ben", title="other")
    needed = await desk.working("kyra", "dora", title="the facts")
    await desk.complete(needed, result="THE FACTS")
    builds = await desk.delegate(None, "eva", parent=other, needs=[needed])
    claimed = await desk.claim("eva")
    assert claimed is not None
    await desk.fail(claimed, may_pass=False)
    cleo = await desk.agent("cleo")
    async with desk.transaction() as session:
        await revival.reassign(session, team_id=desk.team_id, task_id=parent.id, assignee_id=cleo.id, actor=ACTOR)
    await desk.claim("cleo")

    with pytest.raises(CycleDetected):
        async with desk.transaction() as session:
            await revival.retry(session, team_id=desk.team_id, task_id=child.id, settings=desk.settings, actor=ACTOR)
    first, second = await desk.letters()
    again = await _replay(desk, first, {}, "ben")
    assert again.creator_id == cleo.id
    replayed = await _replay(desk, second, {}, None)
    async with desk.transaction() as session:
        needs = select(TaskDependency.needs_id).where(TaskDependency.task_id == replayed.id)
        assert list(await session.scalars(needs)) == [needed.id]
    assert builds.id != replayed.id


async def _replay(desk: Desk, letter: DeadLetter, edits: dict[str, str], assignee: str | None) -> Task:
    agent = await desk.agent(assignee) if assignee else None
    async with desk.transaction() as session:
        _, task = await revival.replay(
            session,
            team_id=desk.team_id,
            letter_id=letter.id,
            edits=edits,
            assignee_id=agent.id if agent else None,
            settings=desk.settings,
            actor=ACTOR,
        )
        return task


async def _discard(desk: Desk, letter: DeadLetter) -> DeadLetter:
    async with desk.transaction() as session:
        return await dead_letters.discard(session, team_id=desk.team_id, letter_id=letter.id, note="", actor=ACTOR)


async def _outcomes(desk: Desk, task: Task) -> list[AttemptOutcome]:
    async with desk.transaction() as session:
        mine = select(TaskAttempt.outcome).where(TaskAttempt.task_id == task.id).order_by(TaskAttempt.number)
        return list(await session.scalars(mine))
