"""Follow-up jobs: run once by one of many, at their time, never dropped."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta
from uuid import UUID

import pytest
import redis.asyncio as redis_client
from arq import func as arq_function
from sqlalchemy import func, select, text
from sqlalchemy.ext.asyncio import AsyncSession

from app.clock import now
from app.config import Settings
from app.db.transaction import Transactions
from app.errors import Conflict
from app.follow_ups import queries
from app.follow_ups.models import FollowUp, FollowUpKind
from app.follow_ups.service import MAX_FAILURES, run, schedule
from app.observability.metrics import FOLLOW_UP_FAILURES
from app.tasks import revival
from app.tasks.models import TaskPurpose
from app.tasks.run import Made, Run
from jobs import process
from jobs.context import JobContext
from jobs.follow_up import follow_up
from jobs.worker import WorkerSettings
from tests.fixtures.desk import ACTOR, Desk
from tests.jobs.conftest import Workers

PATIENCE_S = 20.0
KIND = FollowUpKind.STAGE_TASK_ENDED
Handle = Callable[[AsyncSession, UUID], Awaitable[None]]


class Handled:
    """The subjects that were handled, announced to whoever waits."""

    def __init__(self) -> None:
        self.subjects: list[UUID] = []
        self._news = asyncio.Condition()

    async def add(self, subject: UUID) -> None:
        async with self._news:
            self.subjects.append(subject)
            self._news.notify_all()

    async def until(self, condition: Callable[[], bool]) -> None:
        async with asyncio.timeout(PATIENCE_S), self._news:
            await self._news.wait_for(condition)


@pytest.fixture
def handle(monkeypatch: pytest.MonkeyPatch) -> Callable[[Handle], None]:
    """Replaces what the jobs of one kind do."""

    def replace(handler: Handle) -> None:
        @follow_up()
        async def stage_task_ended(job: JobContext, session: AsyncSession, team_id: UUID, subject: UUID) -> None:
            await handler(session, subject)

        monkeypatch.setattr(WorkerSettings, "functions", [arq_function(stage_task_ended, name=KIND)])

    return replace


async def execute_nothing(run: Run) -> Made:
    raise AssertionError


async def remaining(transaction: Transactions) -> list[FollowUp]:
    async with transaction() as session:
        return list(await session.scalars(select(FollowUp)))


async def until_none_remains(transaction: Transactions) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while await remaining(transaction):  # noqa: ASYNC110 - the last ones are being committed
            await asyncio.sleep(0.01)


async def schedule_all(desk: Desk, subjects: list[UUID], after_s: float = 0) -> None:
    async with desk.transaction() as session:
        for subject in subjects:
            due = now() + timedelta(seconds=after_s) if after_s else None
            schedule(session, KIND, team_id=desk.team_id, subject_id=subject, due_at=due)


async def test_many_workers_run_each_follow_up_once(
    desk: Desk, transaction: Transactions, workers: Workers, handle: Callable[[Handle], None]
) -> None:
    """What a handler writes is committed with it: the rows are the proof, not what ran in memory."""
    await desk.sql("create table done (subject uuid)")
    subjects = [UUID(int=number) for number in range(60)]

    async def write(session: AsyncSession, subject: UUID) -> None:
        await session.execute(text("insert into done values (:subject)"), {"subject": subject})

    handle(write)
    async with workers(execute_nothing), workers(execute_nothing), workers(execute_nothing):
        await schedule_all(desk, subjects)
        await until_none_remains(transaction)

    async with transaction() as session:
        rows = list(await session.scalars(text("select subject from done order by subject")))
    assert rows == subjects


async def test_one_that_fails_is_put_off_and_holds_up_no_other(
    desk: Desk, transaction: Transactions, workers: Workers, handle: Callable[[Handle], None]
) -> None:
    bad, good = UUID(int=1), UUID(int=2)
    tried, handled = Handled(), Handled()

    async def fail_once(session: AsyncSession, subject: UUID) -> None:
        await tried.add(subject)
        if subject == bad and tried.subjects.count(bad) < 2:
            raise RuntimeError("not today")
        await handled.add(subject)

    handle(fail_once)
    await schedule_all(desk, [bad, good])
    async with workers(execute_nothing):
        await handled.until(lambda: good in handled.subjects)
        await tried.until(lambda: bad in tried.subjects)
        async with asyncio.timeout(PATIENCE_S):
            while not (failed := [row for row in await remaining(transaction) if row.failures]):  # noqa: ASYNC110
                await asyncio.sleep(0.01)
        assert "not today" in (failed[0].error or "")
        await handled.until(lambda: bad in handled.subjects)


async def test_one_that_kills_its_connection_is_put_off_until_its_fallback_runs(
    desk: Desk, transaction: Transactions
) -> None:
    subject, tried, fallen_back = UUID(int=3), Handled(), Handled()
    await schedule_all(desk, [subject])
    (scheduled,) = await remaining(transaction)

    async def die(session: AsyncSession, team_id: UUID, subject: UUID) -> None:
        await tried.add(subject)
        await session.execute(text("select pg_terminate_backend(pg_backend_pid())"))

    async def fall_back(session: AsyncSession, team_id: UUID, subject: UUID) -> None:
        await fallen_back.add(subject)

    before = FOLLOW_UP_FAILURES.labels(KIND)._value.get()
    for failures in (0, MAX_FAILURES - 1):
        await desk.sql(f"update follow_up set failures = {failures}, due_at = now()")
        at = now()
        assert await run(transaction, scheduled.id, die, fall_back)
        (row,) = await remaining(transaction)
        assert row.failures == failures + 1
        assert row.due_at - at >= timedelta(seconds=min(2**failures, 60))
    assert FOLLOW_UP_FAILURES.labels(KIND)._value.get() == before + 2
    await desk.sql("update follow_up set due_at = now()")
    assert await run(transaction, scheduled.id, die, fall_back)

    assert (len(tried.subjects), fallen_back.subjects) == (2, [subject])
    assert await remaining(transaction) == []


async def test_a_follow_up_waits_for_its_time(desk: Desk, workers: Workers, handle: Callable[[Handle], None]) -> None:
    times: list[float] = []
    handled, subject = Handled(), UUID(int=7)

    async def note(session: AsyncSession, subject: UUID) -> None:
        times.append(asyncio.get_running_loop().time())
        await handled.add(subject)

    handle(note)
    async with workers(execute_nothing):
        started = asyncio.get_running_loop().time()
        await schedule_all(desk, [subject], after_s=0.4)
        await handled.until(lambda: handled.subjects == [subject])

    assert times[0] - started >= 0.4


async def test_a_follow_up_survives_a_worker_that_is_stopped_in_the_middle(
    desk: Desk, workers: Workers, handle: Callable[[Handle], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "FINISH_S", 0.1)
    handled, started, subject = Handled(), asyncio.Event(), UUID(int=7)

    async def hang(session: AsyncSession, subject: UUID) -> None:
        started.set()
        await asyncio.Event().wait()

    async def finish(session: AsyncSession, subject: UUID) -> None:
        await handled.add(subject)

    handle(hang)
    await schedule_all(desk, [subject])
    async with workers(execute_nothing), asyncio.timeout(PATIENCE_S):
        await started.wait()
    handle(finish)
    async with workers(execute_nothing):
        await handled.until(lambda: handled.subjects == [subject])


async def test_a_kind_that_this_version_does_not_know_is_left_to_newer_workers(
    desk: Desk, transaction: Transactions, workers: Workers, handle: Callable[[Handle], None]
) -> None:
    handled, subject = Handled(), UUID(int=8)

    async def finish(session: AsyncSession, subject: UUID) -> None:
        await handled.add(subject)

    handle(finish)
    async with workers(execute_nothing) as worker:
        await desk.sql(
            "insert into follow_up (id, team_id, kind, subject_id) "
            f"select gen_random_uuid(), id, 'from_the_future', '{UUID(int=9)}' from team"
        )
        await worker.sweeper.sweep()  # enqueues it
        await schedule_all(desk, [subject])
        await handled.until(lambda: handled.subjects == [subject])
        queued = await worker.redis.client.zrange("parley:jobs", 0, -1)
        async with transaction() as session:
            kinds = list(await session.scalars(text("select kind from follow_up")))

    assert "from_the_future" in kinds
    assert b"from_the_future" in {job_id.split(b":")[0] for job_id in queued}


async def test_a_job_that_a_killed_arq_worker_keeps_from_others_is_run_by_the_sweeper(
    desk: Desk, transaction: Transactions, workers: Workers, settings: Settings
) -> None:
    await schedule_all(desk, [UUID(int=10)])
    await desk.sql("update follow_up set due_at = now() - interval '1 minute'")
    (job,) = await queries.due_jobs(desk.transaction._database, limit=2)
    async with redis_client.Redis.from_url(settings.redis_url) as client:
        await client.set(f"arq:in-progress:{job.id}", b"1", ex=3_600)
        async with workers(execute_nothing):
            await until_none_remains(transaction)
        assert await client.exists(f"arq:in-progress:{job.id}")


async def test_the_end_of_own_work_is_told_to_its_owner_once(
    desk: Desk, transaction: Transactions, workers: Workers, handle: Callable[[Handle], None]
) -> None:
    handled = Handled()

    async def note(session: AsyncSession, task_id: UUID) -> None:
        await handled.add(task_id)

    done = await desk.assign("kyra", TaskPurpose.STAGE)
    failed = await desk.assign("luke", TaskPurpose.STAGE)
    cancelled = await desk.assign("ada", TaskPurpose.STAGE)
    claimed, other = await desk.claim("kyra"), await desk.claim("luke")
    assert claimed is not None
    assert other is not None
    await desk.complete(claimed, cost="0.001")
    await desk.fail(other, may_pass=False)
    await desk.cancel(cancelled)

    handle(note)
    async with workers(execute_nothing):
        await handled.until(lambda: len(handled.subjects) == 3)

    assert set(handled.subjects) == {done.id, failed.id, cancelled.id}
    assert await desk.letters() == [], "whoever ordered it decides, not a person with a dead letter"
    assert await desk.reserved() == 0
    with pytest.raises(Conflict, match="is a stage"):
        async with transaction() as session:
            await revival.retry(session, team_id=desk.team_id, task_id=failed.id, settings=desk.settings, actor=ACTOR)


async def test_from_own_work_three_delegations_lead_down(desk: Desk, transaction: Transactions) -> None:
    """Own work is the origin: the first delegation from it is the first hop. It takes no place among the five."""
    for _ in range(6):
        await desk.assign("kyra")
    own = await desk.claim("kyra")
    assert own is not None
    parent, made = own, [own]
    for slug in ("luke", "ada", "zara"):
        parent = await desk.working(None, slug, parent=parent)
        made.append(parent)

    assert [task.depth for task in made] == [0, 1, 2, 3]
    assert [task.grandparent_id for task in made] == [None, None, own.id, made[1].id]
    assert {task.root_id for task in made} == {own.id}
    await desk.cancel(own)
    assert await desk.status(*made) == ["cancelled"] * 4
    async with transaction() as session:
        assert await session.scalar(select(func.count()).select_from(FollowUp)) == 1
