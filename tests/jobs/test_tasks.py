"""Tasks as arq jobs: woken, bounded, most urgent first; what was cancelled stops, what is left is given back."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from uuid import UUID

from sqlalchemy import select

from app.agents.models import AgentStatus
from app.config import Settings
from app.db.transaction import Transactions
from app.queue import JobQueue
from app.redis import Redis
from app.tasks.claiming import JobClaim, claim_for_jobs
from app.tasks.failures import Failure
from app.tasks.models import Task, TaskAttempt, TaskStatus
from app.tasks.run import Made, Run, RunFailed
from app.tasks.sweeper import sweep
from jobs.task_runner import TaskRunner
from tests.fixtures.desk import ACTOR, Desk
from tests.fixtures.logs import logged
from tests.jobs.conftest import Workers

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


async def test_a_wake_up_starts_a_task_and_what_depends_on_it(desk: Desk, workers: Workers) -> None:
    async with workers(noop):
        first = await desk.delegate("kyra", "luke")
        second = await desk.delegate("kyra", "ada", needs=[first])
        done = await until_status(desk, second, TaskStatus.COMPLETED)

    assert (done.result, done.output) == ("Nothing to do.", {"seen": "for ada"})
    assert await desk.kinds(first) == await desk.kinds(second) == ["task.created", "task.claimed", "task.completed"]
    assert await desk.reserved() == 0


async def test_an_external_agents_task_is_left_alone(desk: Desk, workers: Workers) -> None:
    await desk.agent("ext", runtime="external")
    async with workers(noop):
        left = await desk.delegate("kyra", "ext")
        taken = await desk.delegate("kyra", "luke")
        await until_status(desk, taken, TaskStatus.COMPLETED)

    assert await desk.status(left) == ["pending"]


async def test_urgent_overtakes_and_places_are_bounded(desk: Desk, workers: Workers) -> None:
    script = Script()
    async with workers(script, slots=1) as worker:
        await desk.delegate("kyra", "luke", title="first")
        await script.until(lambda: script.started == ["first"])
        for number in range(3):
            await desk.delegate("kyra", "ada", title=f"low {number}", priority="low")
        await desk.delegate("kyra", "zara", title="urgent", priority="urgent")
        async with asyncio.timeout(PATIENCE_S):
            while await JobQueue(worker.redis).length() < 4:  # noqa: ASYNC110 - enqueued after the commit
                await asyncio.sleep(0.005)
        for title in ("first", "urgent", "low 0", "low 1", "low 2"):
            await script.until(lambda title=title: title in script.started)  # type: ignore[misc]
            script.go[title].set()
        await script.until(lambda: len(script.started) == 5)

    assert script.started == ["first", "urgent", "low 0", "low 1", "low 2"]
    assert script.most_at_once == 1


async def test_a_waiting_run_lends_its_place_to_what_it_waits_for(desk: Desk, workers: Workers) -> None:
    child: asyncio.Future[Task] = asyncio.get_running_loop().create_future()

    async def execute(run: Run) -> Made:
        if run.task.depth == 1:
            made = await desk.delegate(None, "ada", parent=run.task, claim_token=run.token)
            async with run.resting():
                await until_status(desk, made, TaskStatus.COMPLETED)
            child.set_result(made)
        return Made("done")

    async with workers(execute, slots=1):
        parent = await desk.delegate("kyra", "luke")
        await until_status(desk, parent, TaskStatus.COMPLETED)

    assert await desk.status(child.result()) == ["completed"]


async def test_cancelling_stops_the_runs_of_a_whole_tree(desk: Desk, workers: Workers) -> None:
    script = Script()
    async with workers(script):
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


async def test_a_run_that_was_taken_for_dead_is_stopped_and_its_result_counts_no_more(
    desk: Desk, workers: Workers
) -> None:
    script = Script()
    async with workers(script, slots=2):
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


async def test_a_run_past_its_time_ends_with_its_progress(desk: Desk, workers: Workers) -> None:
    async def execute(run: Run) -> Made:
        await run.progressed("half of it")
        await asyncio.Event().wait()
        raise AssertionError

    async with workers(execute):
        task = await desk.delegate("kyra", "luke", timeout_seconds=1)
        done = await until_status(desk, task, TaskStatus.TIMED_OUT)

    assert (done.progress, done.error_code) == ("half of it", "TIMED_OUT")


async def test_failures_are_told_apart(desk: Desk, workers: Workers) -> None:
    async def execute(run: Run) -> Made:
        if run.task.title == "final":
            raise RunFailed(Failure("REFUSED", "No such model."))
        raise ZeroDivisionError("a bug, with a secret in it")

    async with workers(execute):
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
    desk: Desk, workers: Workers
) -> None:
    script, other = Script(), Script()
    async with workers(script, grace_s=1.0):
        quick, slow = (
            await desk.delegate("kyra", "luke", title="quick"),
            await desk.delegate("kyra", "ada", title="slow"),
        )
        await script.until(lambda: len(script.started) == 2)
        asyncio.get_running_loop().call_later(0.1, script.go["quick"].set)  # while the pool drains
    assert await desk.status(quick, slow) == ["completed", "pending"]
    async with workers(other):
        await other.until(lambda: other.started == ["slow"])
        other.go["slow"].set()
        done = await until_status(desk, slow, TaskStatus.COMPLETED)

    assert (done.attempts_made, done.attempts_allowed) == (2, 4)  # a stopped worker costs no attempt
    assert script.stopped == ["slow"]


async def test_urgent_overtakes_a_thousand_low_tasks_and_an_old_low_one_passes_urgent_ones_that_keep_coming(
    desk: Desk, workers: Workers
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
            await worker.redis.client.flushall()
        await worker.sweeper.sweep()  # all that waits is in the queue before the next one starts
        return Made("done")

    async with workers(execute, slots=1) as worker:
        await until_status(desk, low, TaskStatus.COMPLETED)

    assert order[:6] == ["urgent"] * 5 + ["low"]


async def test_a_task_that_is_cancelled_while_its_worker_drains_stops_at_once(desk: Desk, workers: Workers) -> None:
    script = Script()
    async with workers(script) as worker:
        task = await desk.delegate("kyra", "luke", title="long")
        await script.until(lambda: script.started == ["long"])
        draining = asyncio.create_task(worker.runner.drain(60.0))
        await desk.cancel(task)
        async with asyncio.timeout(PATIENCE_S):
            await draining

    assert script.stopped == ["long"]
    assert await desk.status(task) == ["cancelled"]


async def test_a_runner_that_is_stopped_while_it_claims_orphans_nothing(desk: Desk) -> None:
    """At any moment of the claim, however long it takes: what was claimed is given back, or was never claimed."""
    task = await desk.delegate("kyra", "luke")
    for milliseconds in range(0, 14, 2):
        runner = TaskRunner(desk.transaction._database, desk.transaction, Script(), slots=1)
        claim = JobClaim(task.id, (await desk.read(task)).attempts_made + 1)
        running = asyncio.create_task(runner.run(claim))
        await asyncio.sleep(milliseconds / 1000)  # a moment inside the claim is the point of this test
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        await runner.drain(0.0)
        assert await desk.status(task) == ["pending"]


async def test_an_outcome_that_cannot_be_written_is_a_failure_that_says_so(desk: Desk, workers: Workers) -> None:
    async def execute(run: Run) -> Made:
        return Made("a null character: \0")

    with logged() as lines:
        async with workers(execute):
            task = await desk.delegate("kyra", "luke")
            async with asyncio.timeout(PATIENCE_S):
                while "task.requeued" not in await desk.kinds(task):  # noqa: ASYNC110
                    await asyncio.sleep(0.01)

    assert await desk.attempt_errors(task) == ["INTERNAL"]
    assert "run failed by a fault of Parley's own" in [line["event"] for line in lines]


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


async def test_the_attempt_knows_its_job_and_a_started_job_leaves_the_queue(
    desk: Desk, workers: Workers, settings: Settings
) -> None:
    script = Script()
    redis = Redis(settings)
    async with workers(script):
        task = await desk.delegate("kyra", "luke", title="long")
        await script.until(lambda: script.started == ["long"])
        async with asyncio.timeout(PATIENCE_S):
            while await JobQueue(redis).length():  # noqa: ASYNC110 - taken off right after the claim
                await asyncio.sleep(0.005)
        script.go["long"].set()
        await until_status(desk, task, TaskStatus.COMPLETED)
    await redis.close()

    async with desk.transaction() as session:
        job_ids = list(await session.scalars(select(TaskAttempt.job_id).where(TaskAttempt.task_id == task.id)))
    assert job_ids == [f"task:{task.id}:1"]


async def test_one_job_claims_its_attempt_once(desk: Desk, transaction: Transactions) -> None:
    """A job that is delivered twice, late or for another attempt finds nothing to claim."""
    task = await desk.delegate("kyra", "luke")
    claim = JobClaim(task.id, 1, "task:x:1")

    async def claim_it(*claims: JobClaim) -> list[UUID]:
        async with transaction.of_one_statement() as statement:
            return list(await claim_for_jobs(statement, claims, lease_s=8, actor=ACTOR))

    outcomes = await asyncio.gather(*(claim_it(claim) for _ in range(8)))
    later = await claim_it(claim, JobClaim(task.id, 2), JobClaim(UUID(int=1), 1))

    assert [ids for ids in outcomes if ids] == [[task.id]]
    assert later == []
    assert await desk.kinds(task) == ["task.created", "task.claimed"]
