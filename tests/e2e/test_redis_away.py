"""Redis lost in five ways while tasks and sessions are under way: work goes on meanwhile, everything completes exactly
once, and the queue takes over again within seconds."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pytest
from redis.asyncio import Redis as Client

from app.config import Flags
from app.tasks.models import Task
from tests.fixtures.desk import Desk
from tests.fixtures.installation import SOAK, Installation, ParleyProcess
from tests.fixtures.sessions import Sessions

TASKS, SESSIONS = (200, 20) if SOAK else (20, 3)
HANG_S = 60.0 if SOAK else 6.0
WORKERS, SLOTS = 2, 4
PATIENCE_S = 300.0 if SOAK else 60.0
BACK_S = 10.0  # the queue takes over within 5; the rest is for busy machines
OPEN_TASKS_EACH = 5  # an agent takes no more
MAX_COST_USD = Decimal("0.05")
TASK: dict[str, Any] = {"instructions": "@wait 0.5", "budget_usd": MAX_COST_USD}
GOAL = "@wait 0.5\nCache the answers, or not?"
Outage = Callable[[Installation], AbstractAsyncContextManager[None]]


@asynccontextmanager
async def redis_client(installation: Installation) -> AsyncIterator[Client]:
    async with Client.from_url(installation.valkey.url()) as client:
        yield client


@asynccontextmanager
async def wiped(installation: Installation) -> AsyncIterator[None]:
    """Again and again."""
    async with redis_client(installation) as client:

        async def wipe() -> None:
            while True:
                await client.flushall()
                await asyncio.sleep(0.3)

        wiping = asyncio.create_task(wipe())
        try:
            yield
        finally:
            wiping.cancel()
            await asyncio.gather(wiping, return_exceptions=True)


@asynccontextmanager
async def hung(installation: Installation) -> AsyncIterator[None]:
    """It accepts connections but answers nothing."""
    valkey_process = installation.valkey._process
    assert valkey_process is not None
    stopped = time.monotonic()
    os.kill(valkey_process.pid, signal.SIGSTOP)
    try:
        yield
        await asyncio.sleep(max(0.0, HANG_S - (time.monotonic() - stopped)))
    finally:
        os.kill(valkey_process.pid, signal.SIGCONT)


@asynccontextmanager
async def read_only(installation: Installation) -> AsyncIterator[None]:
    """As a primary is after a failover that its clients did not notice."""
    async with redis_client(installation) as client:
        await client.config_set("replica-read-only", "yes")
        await client.replicaof("127.0.0.1", "1")
        try:
            yield
        finally:
            await client.replicaof("NO", "ONE")


@asynccontextmanager
async def out_of_memory(installation: Installation) -> AsyncIterator[None]:
    async with redis_client(installation) as client:
        before = await client.config_get("maxmemory*")
        await client.config_set("maxmemory-policy", "noeviction")
        await client.config_set("maxmemory", 1)
        try:
            yield
        finally:
            await client.config_set("maxmemory", before["maxmemory"])
            await client.config_set("maxmemory-policy", before["maxmemory-policy"])


@asynccontextmanager
async def killed(installation: Installation) -> AsyncIterator[None]:
    """It comes back empty."""
    await asyncio.to_thread(installation.valkey.kill)
    try:
        yield
    finally:
        await asyncio.to_thread(installation.valkey.start)


@dataclass
class Workload:
    """Tasks and sessions of one team, and workers that execute them."""

    installation: Installation
    desk: Desk
    workers: list[ParleyProcess]

    async def delegate(self, count: int, name: str, **fields: Any) -> list[Task]:
        tasks = []
        for number in range(count):
            slug = f"{name}-{number // OPEN_TASKS_EACH}"
            tasks.append(await self.desk.delegate("kyra", slug, title=f"{name} {number}", **TASK, **fields))
        return tasks

    async def start_sessions(self, count: int) -> None:
        """Led by different agents, because each takes part in few at a time."""
        sessions = Sessions(self.desk)
        for number in range(count):
            seats = (f"worker:first-{number}", f"worker:second-{number}")
            await sessions.start("pipeline", *seats, goal=GOAL, max_cost_usd=MAX_COST_USD * 4)

    async def value(self, sql: str, *arguments: Any) -> Any:
        return await self.installation.database.fetchval(sql, self.installation.team.id, *arguments)

    async def rows(self, sql: str) -> list[tuple[Any, ...]]:
        return [tuple(row) for row in await self.installation.database.fetch(sql, self.installation.team.id)]

    async def until(self, sql: str, *arguments: Any, patience_s: float = PATIENCE_S) -> None:
        async with asyncio.timeout(patience_s):
            while not await self.value(sql, *arguments):  # noqa: ASYNC110 - other processes do it
                await asyncio.sleep(0.05)

    async def until_all_ended(self) -> None:
        await self.until("select not exists (select from task where team_id = $1 and finished_at is null)")
        await self.until("select not exists (select from collaboration where team_id = $1 and finished_at is null)")
        await self.until("select not exists (select from follow_up where team_id = $1 and due_at <= clock_timestamp())")

    async def until_the_queue_delivers(self) -> None:
        """New tasks run without it at first. Urgent, so that it does not wait for what was delegated before."""
        number = 0
        while True:
            (task,) = await self.delegate(1, f"after-{number}", priority="urgent")
            await self.until("select status = 'completed' from task where team_id = $1 and id = $2", task.id)
            if await self.value("select job_id from task_attempt where team_id = $1 and task_id = $2", task.id):
                return
            number += 1


@pytest.fixture
async def workload(installation: Installation) -> AsyncIterator[Workload]:
    settings = installation.settings.model_copy(update={"flags": Flags(task_delegation=True, collaboration=True)})
    desk = Desk(installation.transaction, settings, installation.team.id, {"kyra": installation.team.kyra})
    workers = [installation.another("worker") for _ in range(WORKERS)]
    for worker in workers:
        worker.environment |= {"PARLEY_WORKER_SLOTS": str(SLOTS)}
        worker.launch()
    yield Workload(installation, desk, workers)
    for worker in workers:
        worker.end()


@pytest.mark.timeout(60 + 2 * PATIENCE_S)
@pytest.mark.parametrize("outage", [wiped, hung, read_only, out_of_memory, killed])
async def test_work_goes_on_without_redis_and_completes_once(workload: Workload, outage: Outage) -> None:
    await workload.delegate(TASKS // 2, "before")
    await workload.start_sessions(SESSIONS)
    await workload.until("select count(*) > 0 from task where team_id = $1 and status = 'in_progress'")
    async with outage(workload.installation):
        during = await workload.delegate(TASKS // 2, "during")
        ids = [task.id for task in during]
        await workload.until(
            "select count(*) > 0 from task where team_id = $1 and id = any($2) and status = 'completed'", ids
        )
    back = time.monotonic()
    await workload.until_the_queue_delivers()
    assert time.monotonic() - back < BACK_S
    await workload.until_all_ended()

    await check_books(workload)
    for worker in workload.workers:
        assert worker.process is not None
        assert worker.process.runs()
    assert [line for line in workload.workers[0].log.read_text().splitlines() if "Traceback" in line] == []


async def check_books(workload: Workload) -> None:
    """Nothing is found where something would be wrong. No worker died, so no attempt was lost."""
    wrong = {
        "a task that did not complete exactly once": """
            select task.title from task left join event on event.task_id = task.id and event.kind in
                ('task.completed', 'task.failed', 'task.timed_out', 'task.cancelled')
            where task.team_id = $1 group by task.id
            having count(event.id) <> 1 or task.status <> 'completed'""",
        "a task that was not done at its first attempt": """
            select task.title, attempts_made, array_agg(attempt.outcome) from task
            left join task_attempt attempt on attempt.task_id = task.id
            where task.team_id = $1 group by task.id
            having count(attempt.id) <> 1 or count(attempt.ended_at) <> 1 or attempts_made <> 1""",
        "a session that did not complete": """
            select id, status from collaboration where team_id = $1 and status <> 'completed'""",
        "a stage twice": """
            select collaboration_id from collaboration_stage where team_id = $1
            group by collaboration_id, kind, round, part having count(*) > 1""",
        "a stage without exactly two events": """
            select stage.id from collaboration_stage stage left join event on event.task_id = stage.task_id
                and event.kind like 'collaboration.stage%'
            where stage.team_id = $1 group by stage.id having count(event.id) <> 2""",
        "an account with money still reserved": """
            select id from budget_account where team_id = $1 and reserved <> 0""",
        "a follow-up that failed": "select kind, error from follow_up where team_id = $1 and failures > 0",
    }
    assert {what: rows for what, sql in wrong.items() if (rows := await workload.rows(sql))} == {}
    purposes = dict(await workload.rows("select purpose, count(*) from task where team_id = $1 group by purpose"))
    assert purposes["stage"] == 2 * SESSIONS
    assert sum(purposes.values()) >= TASKS + 2 * SESSIONS + 1
