"""Makes work for both contenders: tasks through the service that the graph uses, jobs through arq's own client.

Each line of standard input is an order, answered by a line: `make` so many at a pace, `finish` waits until the last
one's effect stands in the database, `tally` counts what there is.
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
from app.db.transaction import Transactions
from app.dispatch import Dispatcher
from app.events.log import Actor
from app.redis import Redis
from app.tasks import service
from app.tasks.service import Delegation
from app.tasks.spec import parse_task

ACTOR = Actor("bench")
SPEC = parse_task({"type": "research", "title": "Look it up", "instructions": "Find out what the others know of it."})
FINISH_PATIENCE_S = 60.0
POLL_S = 0.005
CONNECTIONS = 4
_TALLY = """
select
    (select count(*) from task) as tasks,
    (select count(*) from task where status = 'completed') as completed,
    (select count(*) from task_attempt where outcome = 'completed') as attempts,
    (select count(*) from event where task_id is not null) as events,
    (select count(*) from budget_account where kind = 'task' and closed_at is not null) as settled,
    (select cast(sum(reserved + held) as float) from budget_account) as reserved
"""
_TABLE = "create table if not exists bench_job (id int primary key, done boolean not null, updated_at timestamptz)"
_ENOUGH = Decimal(1_000_000)


class Maker(Protocol):
    open_work: str

    async def make(self) -> tuple[str, int]:
        """Answers the key of what was made, and the moment from which its start is counted."""
        ...


class Tasks:
    """Tasks for the seeded agents in turn, so that none has more than it may have open."""

    open_work = "select exists (select from task where status in ('pending', 'in_progress'))"

    def __init__(self, creator: UUID, assignees: list[UUID], transaction: Transactions) -> None:
        self._creator, self._assignees = creator, itertools.cycle(assignees)
        self._transaction = transaction
        self._team_id = UUID(os.environ["TEAM_ID"])
        self._settings = load_settings(
            flags=Flags(task_delegation=True), team_day_budget_usd=_ENOUGH, team_month_budget_usd=_ENOUGH
        )

    async def make(self) -> tuple[str, int]:
        wanted = Delegation(spec=SPEC, assignee_id=next(self._assignees), creator_id=self._creator)
        async with self._transaction() as session:
            task = await service.delegate(
                session, team_id=self._team_id, wanted=wanted, settings=self._settings, actor=ACTOR
            )
            before_commit = time.monotonic_ns()
        return str(task.id), before_commit


class Jobs:
    open_work = "select exists (select from bench_job where not done)"

    def __init__(self, database: Any, queue: ArqRedis) -> None:
        self._database, self._queue = database, queue
        self._numbers = itertools.count()

    async def make(self) -> tuple[str, int]:
        number = next(self._numbers)
        await self._database.execute("insert into bench_job (id, done) values ($1, false)", number)
        before_enqueue = time.monotonic_ns()
        await self._queue.enqueue_job("job", number)
        return str(number), before_enqueue


async def at_pace(maker: Maker, count: int, rate: float | None, pause_s: tuple[float, float] | None) -> dict[str, int]:
    """At a rate, whatever one takes; or one by one, with a pause of random length before each; or without a pause."""
    if rate is None:
        made = {}
        for _ in range(count):
            await asyncio.sleep(random.uniform(*pause_s) if pause_s else 0)
            key, at = await maker.make()
            made[key] = at
        return made
    started, making = time.perf_counter(), []
    for number in range(count):
        await asyncio.sleep(max(0.0, started + number / rate - time.perf_counter()))
        making.append(asyncio.create_task(maker.make()))
    return dict(await asyncio.gather(*making))


async def finish(database: Any, maker: Maker) -> int:
    async with asyncio.timeout(FINISH_PATIENCE_S):
        while await database.fetchval(maker.open_work):  # noqa: ASYNC110 - rows do not ring
            await asyncio.sleep(POLL_S)
    return time.monotonic_ns()


async def obey(database: Any, makers: dict[str, Maker], order: dict[str, Any]) -> dict[str, Any]:
    if "make" in order:
        made = await at_pace(makers[order["make"]], order["count"], order.get("rate"), order.get("pause_s"))
        return {"made": made}
    if "finish" in order:
        return {"at": await finish(database, makers[order["finish"]])}
    if "tidy" in order:
        await database.execute("vacuum analyze")  # as autovacuum would have done by the time a table is that large
        return {}
    return dict(await database.fetchrow(_TALLY))


async def main() -> None:
    settings, loop = load_settings(), asyncio.get_running_loop()
    parley, redis = Database(settings), Redis(settings)
    database = await asyncpg.create_pool(settings.database_url, min_size=1, max_size=CONNECTIONS)
    await database.execute(_TABLE)
    transaction = Transactions(parley, Dispatcher(settings, parley, redis))
    async with transaction() as session:
        active = select(Agent.id).where(Agent.status == AgentStatus.ACTIVE).order_by(Agent.slug)
        creator, *assignees = await session.scalars(active)
    queue = await create_pool(RedisSettings.from_dsn(os.environ["REDIS_URL"]))
    makers: dict[str, Maker] = {"Parley": Tasks(creator, assignees, transaction), "bare arq": Jobs(database, queue)}
    print("{}", flush=True)
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        print(json.dumps(await obey(database, makers, json.loads(line))), flush=True)


if __name__ == "__main__":
    asyncio.run(main())
