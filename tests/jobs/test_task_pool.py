"""The pool: woken by the bell, bounded, most urgent first; what was cancelled stops, what is left is given back."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from sqlalchemy import select, text

from app.agents.models import AgentStatus
from app.db.transaction import Transactions
from app.events.models import Event
from app.tasks.claiming import claim_managed
from app.tasks.failures import Failure
from app.tasks.models import Task, TaskAttempt, TaskStatus
from app.tasks.run import Made, Run, RunFailed
from app.tasks.sweeper import sweep
from jobs.task_pool import TaskPool
from tests.fixtures.desk import ACTOR, Desk
from tests.fixtures.logs import logged
from tests.jobs.conftest import Pools

PATIENCE_S = 40.0


class Script:
    """An agent whose runs the test starts, watches and ends."""

    def __init__(self) -> None:
        self.started: list[str] = []
        self.stopped: list[str] = []
        self.go: dict[str, asyncio.Event] = {}
        self.runs: dict[str, Run] = {}
        self.active = self.most_at_once = 0
        self._news = asyncio.Condition()

    async def __call__(self, run: Run) -> Made:
        title = run.task.title
        self.runs[title] = run
        self.go.setdefault(title, asyncio.Event())
        self.active += 1
        self.most_at_once = max(self.active, self.most_at_once)
        await self._tell(self.started, title)
        try:
            await self.go[title].wait()
        except asyncio.CancelledError:
            await self._tell(self.stopped, title)
            raise
        finally:
            self.active -= 1
        return Made(f"{title}: done")

    async def _tell(self, where: list[str], title: str) -> None:
        async with self._news:
            where.append(title)
            self._news.notify_all()

    async def until(self, condition: Callable[[], bool]) -> None:
        async with asyncio.timeout(PATIENCE_S), self._news:
            await self._news.wait_for(condition)


async def until_status(desk: Desk, task: Task, wanted: TaskStatus) -> Task:
    async with asyncio.timeout(PATIENCE_S):
        while (found := await desk.read(task)).status is not wanted:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
    return found


async def noop(run: Run) -> Made:
    return Made("Nothing to do.", {"seen": run.task.title})


async def test_the_bell_starts_a_task_and_what_depends_on_it(desk: Desk, pools: Pools) -> None:
    async with pools(noop):
        first = await desk.delegate("kyra", "luke")
        second = await desk.delegate("kyra", "ada", needs=[first])
        done = await until_status(desk, second, TaskStatus.COMPLETED)

    assert (done.result, done.output) == ("Nothing to do.", {"seen": "for ada"})
    assert await desk.kinds(first) == await desk.kinds(second) == ["task.created", "task.claimed", "task.completed"]
    assert await desk.reserved() == 0


async def test_an_external_agents_task_is_left_alone(desk: Desk, pools: Pools) -> None:
    await desk.agent("ext", runtime="external")
    async with pools(noop):
        left = await desk.delegate("kyra", "ext")
        taken = await desk.delegate("kyra", "luke")
        await until_status(desk, taken, TaskStatus.COMPLETED)

    assert await desk.status(left) == ["pending"]


async def test_urgent_overtakes_and_places_are_bounded(desk: Desk, pools: Pools) -> None:
    script = Script()
    async with pools(script, slots=1):
        await desk.delegate("kyra", "luke", title="first")
        await script.until(lambda: script.started == ["first"])
        for number in range(3):
            await desk.delegate("kyra", "ada", title=f"low {number}", priority="low")
        await desk.delegate("kyra", "zara", title="urgent", priority="urgent")
        for title in ("first", "urgent", "low 0", "low 1", "low 2"):
            await script.until(lambda title=title: title in script.started)  # type: ignore[misc]
            script.go[title].set()
        await script.until(lambda: len(script.started) == 5)

    assert script.started == ["first", "urgent", "low 0", "low 1", "low 2"]
    assert script.most_at_once == 1


async def test_a_waiting_run_lends_its_place_to_what_it_waits_for(desk: Desk, pools: Pools) -> None:
    child: asyncio.Future[Task] = asyncio.get_running_loop().create_future()

    async def execute(run: Run) -> Made:
        if run.task.depth == 1:
            made = await desk.delegate(None, "ada", parent=run.task, claim_token=run.token)
            async with run.resting():
                await until_status(desk, made, TaskStatus.COMPLETED)
            child.set_result(made)
        return Made("done")

    async with pools(execute, slots=1):
        parent = await desk.delegate("kyra", "luke")
        await until_status(desk, parent, TaskStatus.COMPLETED)

    assert await desk.status(child.result()) == ["completed"]


async def test_cancelling_stops_the_runs_of_a_whole_tree(desk: Desk, pools: Pools) -> None:
    script = Script()
    async with pools(script):
        tasks = [await desk.delegate("kyra", "luke", title="1")]
        for depth, slug in ((2, "ada"), (3, "zara")):
            await script.until(lambda depth=depth: str(depth - 1) in script.started)  # type: ignore[misc]
            parent = script.runs[str(depth - 1)].task
            tasks.append(await desk.delegate(None, slug, title=str(depth), parent=parent))
        await script.until(lambda: len(script.started) == 3)
        await desk.cancel(tasks[0])
        await script.until(lambda: len(script.stopped) == 3)

    assert await desk.status(*tasks) == ["cancelled"] * 3
    assert await desk.reserved() == 0


async def test_a_run_that_was_taken_for_dead_is_stopped_and_its_result_counts_no_more(desk: Desk, pools: Pools) -> None:
    script = Script()
    async with pools(script, slots=2):
        task = await desk.delegate("kyra", "luke", title="slow")
        await script.until(lambda: script.started == ["slow"])
        stale = script.runs["slow"]
        await desk.sql("update task set lease_until = now() - interval '1 s'")
        assert await sweep(desk.transaction) == 1
        await script.until(lambda: script.stopped == ["slow"] and script.started == ["slow", "slow"])
        fresh = script.runs["slow"]
        assert fresh.token != stale.token
        script.go["slow"].set()
        done = await until_status(desk, task, TaskStatus.COMPLETED)

    assert done.attempts_made == 2
    assert (await desk.kinds(task)).count("task.completed") == 1


async def test_a_run_past_its_time_ends_with_its_progress(desk: Desk, pools: Pools) -> None:
    async def execute(run: Run) -> Made:
        await run.progressed("half of it")
        await asyncio.Event().wait()
        raise AssertionError

    async with pools(execute):
        task = await desk.delegate("kyra", "luke", timeout_seconds=1)
        done = await until_status(desk, task, TaskStatus.TIMED_OUT)

    assert (done.progress, done.error_code) == ("half of it", "TIMED_OUT")


async def test_failures_are_told_apart(desk: Desk, pools: Pools) -> None:
    async def execute(run: Run) -> Made:
        if run.task.title == "final":
            raise RunFailed(Failure("REFUSED", "No such model."))
        raise ZeroDivisionError("a bug, with a secret in it")

    async with pools(execute):
        final = await desk.delegate("kyra", "luke", title="final")
        bug = await desk.delegate("kyra", "ada", title="bug")
        await until_status(desk, final, TaskStatus.FAILED)
        async with asyncio.timeout(PATIENCE_S):
            while "task.requeued" not in await desk.kinds(bug):  # noqa: ASYNC110
                await asyncio.sleep(0.01)

    assert [letter.reason for letter in await desk.letters()] == ["REFUSED: No such model."]
    assert await desk.status(bug) == ["pending"]
    assert await desk.attempt_errors(bug) == ["INTERNAL"]


async def test_what_does_not_end_in_time_is_pending_again_and_another_takes_it_at_once(
    desk: Desk, pools: Pools
) -> None:
    script, other = Script(), Script()
    async with pools(script, grace_s=1.0):
        quick, slow = (
            await desk.delegate("kyra", "luke", title="quick"),
            await desk.delegate("kyra", "ada", title="slow"),
        )
        await script.until(lambda: len(script.started) == 2)
        asyncio.get_running_loop().call_later(0.1, script.go["quick"].set)  # while the pool drains
    assert await desk.status(quick, slow) == ["completed", "pending"]
    async with pools(other):
        await other.until(lambda: other.started == ["slow"])
        other.go["slow"].set()
        done = await until_status(desk, slow, TaskStatus.COMPLETED)

    assert (done.attempts_made, done.attempts_allowed) == (2, 4)  # a stopped worker costs no attempt
    assert script.stopped == ["slow"]


async def test_urgent_overtakes_a_thousand_low_tasks_and_an_old_low_one_passes_urgent_ones_that_keep_coming(
    desk: Desk, pools: Pools
) -> None:
    low = await desk.delegate("kyra", "luke", title="low", priority="low")
    await desk.copy_task(low, 999)
    await desk.delegate("kyra", "zara", title="urgent", priority="urgent")
    order: list[str] = []

    async def execute(run: Run) -> Made:
        order.append(run.task.title)
        if run.task.title == "urgent" and len(order) < 12:
            await desk.delegate("kyra", "ada", title="urgent", priority="urgent")
        if len(order) == 5:  # as if it had been submitted 71 minutes ago
            await desk.sql("update task set due_at = due_at - interval '71 minutes' where id = :id", id=low.id)
        return Made("done")

    async with pools(execute, slots=1):
        await until_status(desk, low, TaskStatus.COMPLETED)

    assert order[:6] == ["urgent"] * 5 + ["low"]


async def test_a_task_that_is_cancelled_while_its_worker_drains_stops_at_once(desk: Desk, pools: Pools) -> None:
    script = Script()
    async with pools(script) as pool:
        task = await desk.delegate("kyra", "luke", title="long")
        await script.until(lambda: script.started == ["long"])
        draining = asyncio.create_task(pool.drain(60.0))
        await desk.cancel(task)
        async with asyncio.timeout(PATIENCE_S):
            await draining

    assert script.stopped == ["long"]
    assert await desk.status(task) == ["cancelled"]


async def test_a_pool_that_is_stopped_while_it_claims_orphans_nothing(desk: Desk, pools: Pools) -> None:
    """At any moment of the claim, however long it takes: what was claimed is given back, or was never claimed."""
    task = await desk.delegate("kyra", "luke")
    for milliseconds in range(0, 14, 2):
        pool = TaskPool(desk.transaction._database, desk.transaction, Script(), slots=1)
        running = asyncio.create_task(pool.run())
        await asyncio.sleep(milliseconds / 1000)  # a moment inside the claim is the point of this test
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        await pool.drain(0.0)
        assert await desk.status(task) == ["pending"]


async def test_an_outcome_that_cannot_be_written_is_a_failure_that_says_so(desk: Desk, pools: Pools) -> None:
    async def execute(run: Run) -> Made:
        return Made("a null character: \0")

    with logged() as lines:
        async with pools(execute):
            task = await desk.delegate("kyra", "luke")
            async with asyncio.timeout(PATIENCE_S):
                while "task.requeued" not in await desk.kinds(task):  # noqa: ASYNC110
                    await asyncio.sleep(0.01)

    assert await desk.attempt_errors(task) == ["INTERNAL"]
    assert "a run failed by a fault of ours" in [line["event"] for line in lines]


async def test_an_archived_agents_tasks_end_as_dead_letters(desk: Desk) -> None:
    await desk.agent("kyra")  # the first is the team's default, which cannot be archived
    task = await desk.delegate("kyra", "luke")
    waiting = await desk.delegate("kyra", "ada", needs=[task])
    await desk.set_status("luke", AgentStatus.ARCHIVED)

    assert await sweep(desk.transaction) == 1
    assert await sweep(desk.transaction) == 0

    assert await desk.status(task, waiting) == ["failed", "failed"]
    assert [letter.reason.split(":")[0] for letter in await desk.letters()] == ["AGENT_ARCHIVED"]
    assert await desk.reserved() == 0


SOMETHING = UUID(int=7)
COLUMNS = [column.key for column in Task.__table__.columns]


async def test_a_batch_is_claimed_as_one_task_is(desk: Desk, transaction: Transactions) -> None:
    """Two ways to claim write the same: the columns of the task, its attempt and its event, but for ids and times."""
    written = []
    for batch in (True, False):
        above = await desk.working("kyra", "luke")
        task = await desk.delegate(None, "ada", parent=above)
        async with transaction() as session:
            # Every column says something; that there is no such conversation and session is of no account here.
            await session.execute(text("set local session_replication_role = replica"))
            dressed = await session.get_one(Task, task.id)
            dressed.conversation_id = dressed.collaboration_id = SOMETHING
            dressed.output_schema, dressed.allowed_agents = {"type": "object", "required": ["ä"]}, [SOMETHING]
        if batch:
            async with transaction.of_one_statement() as statement:
                (answered,) = await claim_managed(statement, limit=3, lease_s=8, actor=ACTOR)
            assert answered.id == task.id
        else:
            await desk.claim("ada", lease_s=8)
        async with transaction() as session:
            rows = [
                await session.get_one(Task, task.id),
                (await session.scalars(select(TaskAttempt).where(TaskAttempt.task_id == task.id))).one(),
                (
                    await session.scalars(select(Event).where(Event.task_id == task.id, Event.kind == "task.claimed"))
                ).one(),
            ]
        claimed = rows[0]
        if batch:
            assert {name: getattr(answered, name) for name in COLUMNS} == {
                name: getattr(claimed, name) for name in COLUMNS
            }
        assert claimed.claim_token is not None
        assert claimed.deadline - claimed.started_at == timedelta(seconds=claimed.timeout_s)
        assert claimed.lease_until - claimed.started_at == timedelta(seconds=8)
        names = {str(above.id): "above", above.id.hex: "above", str(task.id): "task"}
        written.append([_plain(row, names) for row in rows])
        await desk.cancel(above)

    assert written[0] == written[1]


def _plain(row: Any, names: dict[str, str]) -> dict[str, str]:
    """What a row says, without what differs in every row."""
    ids = ("id", "claim_token", "budget_id", "position")
    values = {column.key: getattr(row, column.key) for column in row.__mapper__.column_attrs if column.key not in ids}
    shown = {name: str(value) for name, value in values.items() if not isinstance(value, datetime)}
    for long, short in names.items():
        shown = {name: value.replace(long, short) for name, value in shown.items()}
    return shown
