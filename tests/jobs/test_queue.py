"""The queue: one arq job for each attempt and each follow-up, under documented ids; what it loses is enqueued again."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any
from uuid import UUID

import orjson
import pytest
from arq import func as arq_function
from redis.asyncio import Redis as Client
from sqlalchemy import select, text
from sqlalchemy.ext.asyncio import AsyncSession

from app.clock import now
from app.config import Flags, Settings, load_settings
from app.conversations.models import ReplyStatus
from app.db.engine import Database
from app.db.transaction import Transactions
from app.follow_ups.models import FollowUpKind
from app.follow_ups.service import schedule
from app.queue import QUEUE
from app.tasks.failures import Failure
from app.tasks.models import TaskAttempt, TaskStatus
from app.tasks.run import Made, Run, RunFailed
from jobs.context import JobContext
from jobs.follow_up import follow_up
from jobs.functions import FUNCTIONS
from jobs.process import WorkerProcess
from jobs.worker import WorkerSettings
from tests.fixtures.desk import Desk
from tests.fixtures.hall import open_hall
from tests.fixtures.sessions import Sessions
from tests.fixtures.workers import running_worker
from tests.jobs.conftest import Workers
from tests.jobs.test_follow_ups import execute_nothing
from tests.jobs.test_tasks import Script, noop, until_status

PATIENCE_S = 20.0
JOB_KEY = "arq:job:"
OLD_KIND, NEW_KIND = FollowUpKind.STAGE_TASK_ENDED, FollowUpKind.HANDOFF_DUE
# Postgres notes the job id of every follow-up that is scheduled or put off, because it is deleted when it is done.
LOG_FOLLOW_UPS = (
    "create table follow_up_log (job_id text, deferred bool)",
    """create function log_follow_up() returns trigger language plpgsql as $$ begin
        insert into follow_up_log values (
            concat_ws(':', new.kind, new.id, new.failures), new.due_at > clock_timestamp() + interval '10 s');
        return new;
    end $$""",
    """create trigger log_follow_up after insert or update of failures on follow_up
        for each row execute function log_follow_up()""",
)


@pytest.fixture
def settings(database_url: str, redis_url: str) -> Settings:
    flags = Flags(task_delegation=True, collaboration=True)
    return load_settings(DATABASE_URL=database_url, REDIS_URL=redis_url, pool_size=20, flags=flags)


@pytest.fixture
async def client(redis_url: str) -> AsyncIterator[Client]:
    async with Client.from_url(redis_url) as opened:
        yield opened


@dataclass
class Enqueued:
    """The jobs that Redis was given, by id, with the function that each calls; cron jobs are left out."""

    functions: dict[str, str] = field(default_factory=dict)
    times: Counter[str] = field(default_factory=Counter)

    def add(self, command: str) -> None:
        name, _, rest = command.partition(" ")
        if name != "PSETEX" or not rest.startswith(f"{JOB_KEY}") or rest.startswith(f"{JOB_KEY}cron:"):
            return
        key, _, body = rest.split(" ", 2)
        job_id = key.removeprefix(JOB_KEY)
        self.functions[job_id] = orjson.loads(body)["f"]
        self.times[job_id] += 1


@asynccontextmanager
async def watch_redis(redis_url: str) -> AsyncIterator[Enqueued]:
    """Sees every command that any client sends."""
    enqueued = Enqueued()
    async with Client.from_url(redis_url) as opened:
        async with opened.monitor() as monitor:

            async def listen() -> None:
                async for command in monitor.listen():
                    enqueued.add(command["command"])

            listening = asyncio.create_task(listen())
            try:
                yield enqueued
            finally:
                listening.cancel()
                await asyncio.gather(listening, return_exceptions=True)


@pytest.fixture
def executed(monkeypatch: pytest.MonkeyPatch) -> Counter[tuple[str, str]]:
    """The jobs that arq executed, by id and function in `jobs/`."""
    calls: Counter[tuple[str, str]] = Counter()

    def record(name: str, function: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
        async def run(ctx: dict[str, Any], *args: Any) -> Any:
            calls[ctx["job_id"], name] += 1
            return await function(ctx, *args)

        return run

    functions = [arq_function(record(name, function), name=name) for name, function in FUNCTIONS.items()]  # type: ignore[arg-type]
    assert {item.name: item.coroutine for item in WorkerSettings.functions} == FUNCTIONS
    monkeypatch.setattr(WorkerSettings, "functions", functions)
    return calls


async def column(desk: Desk, sql: str) -> list[Any]:
    async with desk.transaction() as session:
        return list(await session.scalars(text(sql)))


async def until(condition: Callable[[], Awaitable[Any]]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not await condition():  # noqa: ASYNC110
            await asyncio.sleep(0.01)


async def until_queued(client: Client, job_id: str) -> float:
    """The job's score, in milliseconds."""
    await until(lambda: client.zscore(QUEUE, job_id))
    return float(await client.zscore(QUEUE, job_id))


async def test_every_attempt_and_every_follow_up_is_one_arq_job(
    desk: Desk, settings: Settings, database: Database, redis_url: str, executed: Counter[tuple[str, str]]
) -> None:
    for statement in LOG_FOLLOW_UPS:
        await desk.sql(statement)
    hall, sessions = await open_hall(desk, settings, database, runtime="managed"), Sessions(desk)
    async with watch_redis(redis_url) as enqueued, running_worker(settings):
        task = await desk.delegate("kyra", "luke")
        collaboration = await sessions.start("pipeline", "worker:luke", "worker:ada")
        reply = await hall.say("What is Valkey?", "kyra")
        await until_status(desk, task, TaskStatus.COMPLETED)
        await until(lambda: ended(sessions, collaboration))
        await until(lambda: answered(hall, reply))
        await until(lambda: nothing_due(desk))
        attempts = await column(desk, "select 'task:' || task_id || ':' || number from task_attempt")
        immediate = await column(desk, "select job_id from follow_up_log where not deferred")
        deferred = await column(desk, "select job_id from follow_up_log where deferred")
        recorded_ids = await column(desk, "select job_id from task_attempt")

    kinds = {job_id.split(":")[0] for job_id in immediate + deferred}
    assert kinds >= {"start_reply", "reply_task_ended", "stage_task_ended", "session_deadline", "contribution_overdue"}
    assert len(attempts) == 4  # the task, two stages and the reply
    assert sorted(recorded_ids) == sorted(attempts)
    functions = {job_id: "execute_task" for job_id in attempts} | {
        job_id: job_id.split(":")[0] for job_id in immediate + deferred
    }
    assert enqueued.functions == functions
    assert set(enqueued.times.values()) == {1}
    assert executed == Counter({(job_id, functions[job_id]): 1 for job_id in attempts + immediate})


async def ended(sessions: Sessions, collaboration: Any) -> bool:
    return (await sessions.read(collaboration)).finished_at is not None


async def answered(hall: Any, reply: Any) -> bool:
    return bool((await hall.read(reply)).status is ReplyStatus.COMPLETED)


async def nothing_due(desk: Desk) -> bool:
    return not await column(desk, "select id from follow_up where due_at <= clock_timestamp()")


async def test_tasks_that_redis_lost_are_enqueued_again_and_run_once(
    desk: Desk, workers: Workers, client: Client
) -> None:
    script = Script()
    async with workers(script, slots=1) as worker:
        await desk.delegate("kyra", "luke", title="first")
        await script.until(lambda: script.started == ["first"])
        tasks = [await desk.delegate("kyra", "luke", title=str(number)) for number in range(4)]
        job_ids = {f"task:{task.id}:1".encode() for task in tasks}
        await until(lambda: queue_holds(client, job_ids))
        await client.flushall()
        await worker.sweeper.sweep()
        assert set(await client.zrange(QUEUE, 0, -1)) >= job_ids
        for title in ("first", *map(str, range(4))):
            script.go.setdefault(title, asyncio.Event()).set()
        for task in tasks:
            await until_status(desk, task, TaskStatus.COMPLETED)
        await worker.sweeper.sweep()

    assert script.started == ["first", *map(str, range(4))]
    assert [(await desk.read(task)).attempts_made for task in tasks] == [1] * 4


async def queue_holds(client: Client, job_ids: set[bytes]) -> bool:
    return set(await client.zrange(QUEUE, 0, -1)) >= job_ids


async def test_the_sweeper_repairs_the_queue_by_itself(desk: Desk, workers: Workers, client: Client) -> None:
    task = await desk.delegate("kyra", "luke")
    await until_queued(client, f"task:{task.id}:1")
    await client.flushall()
    async with workers(noop):
        await until_status(desk, task, TaskStatus.COMPLETED)


async def test_a_task_of_low_priority_is_due_at_once(desk: Desk, workers: Workers, client: Client) -> None:
    task = await desk.delegate("kyra", "luke", priority="low")
    score = await until_queued(client, f"task:{task.id}:1")
    assert score < now().timestamp() * 1000
    async with workers(noop):
        await until_status(desk, task, TaskStatus.COMPLETED)


async def test_a_retry_waits_in_the_queue_for_its_time(desk: Desk, workers: Workers, client: Client) -> None:
    starts: list[float] = []

    async def fail_once(run: Run) -> Made:
        starts.append(now().timestamp())
        if len(starts) == 1:
            raise RunFailed(Failure("BUSY", "Try again later.", may_pass=True, wait=timedelta(seconds=1)))
        return Made("done")

    async with workers(fail_once) as worker:
        task = await desk.delegate("kyra", "luke")
        score = await until_queued(client, f"task:{task.id}:2")
        ready_at = (await desk.read(task)).ready_at.timestamp()
        await worker.sweeper.sweep()  # must not bring it forward
        await until_status(desk, task, TaskStatus.COMPLETED)

    assert score / 1000 >= ready_at - 0.001
    assert len(starts) == 2
    assert starts[1] >= ready_at
    async with desk.transaction() as session:
        mine = select(TaskAttempt.job_id).where(TaskAttempt.task_id == task.id).order_by(TaskAttempt.number)
        assert list(await session.scalars(mine)) == [f"task:{task.id}:1", f"task:{task.id}:2"]


def arq_functions(*kinds: FollowUpKind) -> list[Any]:
    """Functions of these kinds that note in the database which worker version ran them."""

    def function(kind: FollowUpKind) -> Any:
        @follow_up()
        async def handle(job: JobContext, session: AsyncSession, team_id: UUID, subject: UUID) -> None:
            note = "insert into done (subject, kind, known_kinds) values (:subject, :kind, :known_kinds)"
            await session.execute(text(note), {"subject": subject, "kind": kind, "known_kinds": len(kinds)})

        return arq_function(handle, name=kind)  # type: ignore[arg-type]

    return [function(kind) for kind in kinds]


@asynccontextmanager
async def worker_that_knows(settings: Settings, *kinds: FollowUpKind) -> AsyncIterator[WorkerProcess]:
    """A worker of another version: it has functions for these kinds only."""
    known = {name: value for name, value in vars(WorkerSettings).items() if not name.startswith("__")}
    version = type("VersionSettings", (), known | {"functions": arq_functions(*kinds), "cron_jobs": []})
    process, stopping = WorkerProcess(settings, execute_nothing), asyncio.Event()
    process.start()
    working = asyncio.create_task(process.work(version, stopping))
    try:
        yield process
    finally:
        stopping.set()
        await working
        await process.stop()


async def schedule_kinds(desk: Desk, *kinds: FollowUpKind, first_subject: int = 0) -> None:
    async with desk.transaction() as session:
        for number, kind in enumerate(kinds, first_subject):
            schedule(session, kind, team_id=desk.team_id, subject_id=UUID(int=number))


async def test_two_worker_versions_side_by_side_lose_and_repeat_nothing(
    desk: Desk, transaction: Transactions, settings: Settings
) -> None:
    await desk.sql("create table done (subject uuid, kind text, known_kinds int)")
    async with worker_that_knows(settings, OLD_KIND), worker_that_knows(settings, OLD_KIND, NEW_KIND):
        await schedule_kinds(desk, *[OLD_KIND, NEW_KIND] * 30)
        await until(lambda: nothing_due(desk))

    assert await column(desk, "select subject from done order by subject") == [UUID(int=n) for n in range(60)]
    assert await column(desk, f"select distinct known_kinds from done where kind = '{NEW_KIND}'") == [2]


async def test_an_older_worker_goes_on_behind_hundreds_of_jobs_that_it_does_not_know(
    desk: Desk, transaction: Transactions, settings: Settings, client: Client
) -> None:
    await desk.sql("create table done (subject uuid, kind text, known_kinds int)")
    await schedule_kinds(desk, *[NEW_KIND] * 450)
    await until(lambda: has_length(client, 450))
    async with worker_that_knows(settings, OLD_KIND):
        await schedule_kinds(desk, *[OLD_KIND] * 10, first_subject=450)
        await until(lambda: has_done(desk, OLD_KIND, 10))
        assert await client.zcard(QUEUE) >= 450
    async with worker_that_knows(settings, OLD_KIND, NEW_KIND):
        await until(lambda: nothing_due(desk))

    assert await column(desk, "select subject from done order by subject") == [UUID(int=n) for n in range(460)]


async def has_length(client: Client, length: int) -> bool:
    return bool(await client.zcard(QUEUE) >= length)


async def has_done(desk: Desk, kind: FollowUpKind, count: int) -> bool:
    return len(await column(desk, f"select subject from done where kind = '{kind}'")) >= count
