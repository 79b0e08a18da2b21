"""Creates work for both contenders: tasks through the service that GraphQL uses, jobs through arq's client.

Each line of standard input is a command, answered with a line: `create` creates work at a pace, `finish` waits until
the database shows all of it as done, `vacuum` runs VACUUM ANALYZE, `count_rows` counts tasks and what belongs to them.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import random
import sys
import time
from decimal import Decimal
from typing import Any, Protocol
from uuid import UUID

import asyncpg
from arq import ArqRedis, create_pool
from arq.connections import RedisSettings
from sqlalchemy import select

from app.agents.models import Agent, AgentStatus
from app.config import Flags, load_settings
from app.db import tables  # noqa: F401 - a flush follows foreign keys into slices that nothing else here imports
from app.db.engine import Database
from app.db.transaction import Transactions, WakeUp
from app.dispatch import Dispatcher
from app.events.log import Actor
from app.redis import Redis
from app.tasks import service
from app.tasks.service import Delegation
from app.tasks.spec import parse_task
from app.wakeups import Publisher

ACTOR = Actor("bench")
SPEC = parse_task(
    {"type": "research", "title": "Look it up", "instructions": "Find out what the others know about it."}
)
FINISH_TIMEOUT_S = 60.0
POLL_S = 0.005
CONNECTIONS = 4
_ROW_COUNTS = """
select
    (select count(*) from task) as tasks,
    (select count(*) from task where status = 'completed') as completed,
    (select count(*) from task_attempt where outcome = 'completed') as attempts,
    (select count(*) from event where task_id is not null) as events,
    (select count(*) from budget_account where kind = 'task' and closed_at is not null) as settled,
    (select cast(sum(reserved + held) as float) from budget_account) as reserved
"""
_TABLE = "create table if not exists bench_job (id int primary key, done boolean not null, updated_at timestamptz)"
_UNLIMITED_USD = Decimal(1_000_000)


class Producer(Protocol):
    open_work: str

    async def create(self) -> tuple[str, int]:
        """Returns the key of the new work and the time from which its start is counted."""
        ...


class Tasks:
    """Assigns tasks to the seeded agents in turn, so that none exceeds its limit of open tasks."""

    open_work = "select exists (select from task where status in ('pending', 'in_progress'))"

    def __init__(self, creator: UUID, assignees: list[UUID], transaction: Transactions) -> None:
        self._creator, self._assignees = creator, itertools.cycle(assignees)
        self._transaction = transaction
        self._team_id = UUID(os.environ["TEAM_ID"])
        self._settings = load_settings(
            flags=Flags(task_delegation=True), team_day_budget_usd=_UNLIMITED_USD, team_month_budget_usd=_UNLIMITED_USD
        )

    async def create(self) -> tuple[str, int]:
        delegation = Delegation(spec=SPEC, assignee_id=next(self._assignees), creator_id=self._creator)
        async with self._transaction() as session:
            task = await service.delegate(
                session, team_id=self._team_id, wanted=delegation, settings=self._settings, actor=ACTOR
            )
            before_commit = time.monotonic_ns()
        return str(task.id), before_commit


class Jobs:
    open_work = "select exists (select from bench_job where not done)"

    """`publisher` wakes the worker after each job; without one it polls."""

    _numbers = itertools.count()

    def __init__(self, database: Any, queue: ArqRedis, publisher: Publisher | None = None) -> None:
        self._database, self._queue, self._publisher = database, queue, publisher

    async def create(self) -> tuple[str, int]:
        number = next(self._numbers)
        await self._database.execute("insert into bench_job (id, done) values ($1, false)", number)
        before_enqueue = time.monotonic_ns()
        await self._queue.enqueue_job("job", number)
        if self._publisher is not None:
            await self._publisher.publish(WakeUp.JOBS)
        return str(number), before_enqueue


async def create_at_pace(
    producer: Producer, count: int, rate: float | None, pause_s: tuple[float, float] | None
) -> dict[str, int]:
    """Creates work at a fixed rate; or one by one, with a random pause before each; or one by one without a pause."""
    if rate is None:
        created = {}
        for _ in range(count):
            await asyncio.sleep(random.uniform(*pause_s) if pause_s else 0)
            key, created_at = await producer.create()
            created[key] = created_at
        return created
    started, creations = time.perf_counter(), []
    for number in range(count):
        await asyncio.sleep(max(0.0, started + number / rate - time.perf_counter()))
        creations.append(asyncio.create_task(producer.create()))
    return dict(await asyncio.gather(*creations))


async def finish(database: Any, producer: Producer) -> int:
    async with asyncio.timeout(FINISH_TIMEOUT_S):
        while await database.fetchval(producer.open_work):  # noqa: ASYNC110 - rows send no events
            await asyncio.sleep(POLL_S)
    return time.monotonic_ns()


async def execute(database: Any, producers: dict[str, Producer], command: dict[str, Any]) -> dict[str, Any]:
    if "create" in command:
        producer, pace = producers[command["create"]], (command.get("rate"), command.get("pause_s"))
        return {"created": await create_at_pace(producer, command["count"], *pace)}
    if "finish" in command:
        return {"at": await finish(database, producers[command["finish"]])}
    if "vacuum" in command:
        await database.execute("vacuum analyze")  # as autovacuum would have done by the time a table is that large
        return {}
    return dict(await database.fetchrow(_ROW_COUNTS))


async def main() -> None:
    settings, loop = load_settings(), asyncio.get_running_loop()
    parley, redis = Database(settings), Redis(settings)
    database = await asyncpg.create_pool(settings.database_url, min_size=1, max_size=CONNECTIONS)
    await database.execute(_TABLE)
    transaction = Transactions(parley, Dispatcher(settings, parley, redis))
    async with transaction() as session:
        query = select(Agent.id).where(Agent.status == AgentStatus.ACTIVE).order_by(Agent.slug)
        creator, *assignees = await session.scalars(query)
    queue = await create_pool(RedisSettings.from_dsn(os.environ["REDIS_URL"]))
    producers: dict[str, Producer] = {
        "Parley": Tasks(creator, assignees, transaction),
        "bare arq": Jobs(database, queue),
        "woken arq": Jobs(database, queue, Publisher(settings, redis)),
    }
    print("{}", flush=True)
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        print(json.dumps(await execute(database, producers, json.loads(line))), flush=True)


if __name__ == "__main__":
    asyncio.run(main())
