"""Fair turns: a team with much waiting work holds up another team's task by few tasks, whatever its priority."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta

import pytest

from app.db.transaction import Transactions
from app.tasks.models import TaskPriority, TaskStatus
from app.tasks.priority import HEAD_START, MAX_TURNS, QUEUE_SHIFT, TURN, due_at, queue_position
from app.teams import service as teams
from jobs.process import WorkerProcess
from tests.fixtures.desk import ACTOR, Desk
from tests.jobs.conftest import Workers
from tests.jobs.test_tasks import Script, until_status

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
TASKS = 20
MAX_TASKS_BEFORE = 3
MAX_URGENT_BEFORE = HEAD_START[TaskPriority.URGENT] // TURN[TaskPriority.URGENT] + 1
LOW, NORMAL, HIGH, URGENT = TaskPriority.LOW, TaskPriority.NORMAL, TaskPriority.HIGH, TaskPriority.URGENT
BetweenStarts = Callable[[WorkerProcess], Awaitable[None]]


def position(created: datetime, priority: TaskPriority, ahead: int = 0) -> datetime:
    return queue_position(due_at(created, priority), priority, ahead)


def test_priority_comes_before_age() -> None:
    order = [position(NOON, priority) for priority in (URGENT, HIGH, NORMAL, LOW)]
    assert order == sorted(order)
    assert position(NOON + timedelta(minutes=59), URGENT) < position(NOON, NORMAL)


def test_age_comes_before_priority_after_its_head_start() -> None:
    assert position(NOON, NORMAL) < position(NOON + timedelta(minutes=61), URGENT)
    assert position(NOON, LOW) < position(NOON + timedelta(minutes=71), URGENT)


def test_within_a_priority_the_older_task_of_a_team_comes_first() -> None:
    for priority in TaskPriority:
        order = [position(NOON + timedelta(milliseconds=n), priority, ahead=n) for n in range(2 * MAX_TURNS)]
        assert order == sorted(order)


@pytest.mark.parametrize("priority", [NORMAL, LOW])
def test_the_second_task_of_a_team_comes_after_another_teams_first(priority: TaskPriority) -> None:
    assert position(NOON + timedelta(seconds=1), priority) < position(NOON, priority, ahead=1)


def test_twelve_urgent_tasks_of_a_team_pass_another_teams_normal_one() -> None:
    normal = position(NOON, NORMAL)
    passing = [ahead for ahead in range(TASKS) if position(NOON, URGENT, ahead) < normal]
    assert passing == list(range(12))


@pytest.mark.parametrize("priority", list(TaskPriority))
def test_a_task_that_is_ready_is_never_due_in_the_future(priority: TaskPriority) -> None:
    """arq would let it wait."""
    latest = position(NOON, priority, ahead=10 * MAX_TURNS)
    assert latest == position(NOON, priority, ahead=MAX_TURNS)
    assert latest < NOON
    assert position(NOON, priority) == NOON - HEAD_START[priority] - QUEUE_SHIFT


@pytest.fixture
async def other_desk(desk: Desk, transaction: Transactions) -> Desk:
    async with transaction() as session:
        team = await teams.create(session, slug="readers", name="Readers", actor=ACTOR)
    return Desk(transaction, desk.settings, team.id)


async def start_next(worker: WorkerProcess) -> None:
    return


async def sweep(worker: WorkerProcess) -> None:
    """As if each task took longer than the pause between two sweeps."""
    await worker.sweeper.sweep()


async def order_of_starts(
    desk: Desk, other_desk: Desk, workers: Workers, priority: TaskPriority, between_starts: BetweenStarts
) -> list[str]:
    """One slot: twenty tasks of one team, then one of another team."""
    script, assignees = Script(), [f"agent-{number // 5}" for number in range(TASKS)]  # 5 open tasks each at most
    for slug in assignees:
        await desk.agent(slug)
    await other_desk.agent("ada")
    async with workers(script, slots=1) as worker:
        await desk.delegate("kyra", "luke", title="first")
        await script.until(lambda: script.started == ["first"])
        for number, slug in enumerate(assignees):
            await desk.delegate("kyra", slug, title=str(number), priority=priority.value)
        other = await other_desk.delegate("zara", "ada", title="other")
        for count in range(1, TASKS + 3):
            await script.until(lambda count=count: len(script.started) == count)  # type: ignore[misc]
            await until_all_queued(worker, TASKS + 2 - count)
            await between_starts(worker)
            script.go[script.started[-1]].set()
        await until_status(other_desk, other, TaskStatus.COMPLETED)
    return script.started[1:]


async def until_all_queued(worker: WorkerProcess, count: int) -> None:
    """Jobs are enqueued right after the commit, not in it."""
    async with asyncio.timeout(10):
        while await worker.redis.client.zcount("parley:jobs", 0, "+inf") < count:  # noqa: ASYNC110
            await asyncio.sleep(0.002)


@pytest.mark.parametrize("between_starts", [start_next, sweep])
async def test_another_teams_task_waits_for_few(
    desk: Desk, other_desk: Desk, workers: Workers, between_starts: BetweenStarts
) -> None:
    order = await order_of_starts(desk, other_desk, workers, NORMAL, between_starts)
    assert order.index("other") <= MAX_TASKS_BEFORE
    assert [title for title in order if title != "other"] == [str(number) for number in range(TASKS)]


@pytest.mark.parametrize("between_starts", [start_next, sweep])
async def test_another_teams_task_waits_for_a_limited_number_of_urgent_ones(
    desk: Desk, other_desk: Desk, workers: Workers, between_starts: BetweenStarts
) -> None:
    order = await order_of_starts(desk, other_desk, workers, URGENT, between_starts)
    assert order.index("other") <= MAX_URGENT_BEFORE
    assert [title for title in order if title != "other"] == [str(number) for number in range(TASKS)]
