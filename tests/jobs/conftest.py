"""A desk whose tasks are run by a pool: both on the test's own database, joined by a real bell."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import pytest

from app.clock import now
from app.config import Flags, Settings, load_settings
from app.db.engine import Database
from app.db.transaction import Bell, Transactions
from app.events import partitions
from app.events.wakeups import Listener, Ringer
from app.redis import Redis
from app.tasks.run import Made, Run
from app.teams import service as teams
from jobs import task_pool
from jobs.task_pool import TaskPool
from tests.fixtures.desk import ACTOR, Desk

Execute = Callable[[Run], Awaitable[Made]]
Pools = Callable[..., AbstractAsyncContextManager[TaskPool]]


@pytest.fixture
def settings(database_url: str, redis_url: str) -> Settings:
    flags = Flags(task_delegation=True)
    return load_settings(DATABASE_URL=database_url, REDIS_URL=redis_url, pool_size=20, flags=flags)


@pytest.fixture
async def database(settings: Settings) -> AsyncIterator[Database]:
    opened = Database(settings)
    yield opened
    await opened.close()


@pytest.fixture
async def transaction(settings: Settings, database: Database) -> AsyncIterator[Transactions]:
    redis = Redis(settings)
    ringer = Ringer(redis)
    yield Transactions(database, ringer)
    await ringer.close()
    await redis.close()


@pytest.fixture
async def desk(transaction: Transactions, settings: Settings) -> Desk:
    async with transaction() as session:
        await partitions.ensure(session, now())
        team = await teams.create(session, slug="writers", name="Writers", actor=ACTOR)
    return Desk(transaction, settings, team.id)


@pytest.fixture
def pools(settings: Settings, database: Database, transaction: Transactions, monkeypatch: pytest.MonkeyPatch) -> Pools:
    """Pools that hear the bell, and drain at the end. They poll so seldom that only the bell explains what they do."""
    monkeypatch.setattr(task_pool, "POLL_S", 60.0)

    @asynccontextmanager
    async def open_pool(execute: Execute, *, slots: int = 5, grace_s: float = 0.1) -> AsyncIterator[TaskPool]:
        pool = TaskPool(database, transaction, execute, slots=slots)
        listener = Listener(settings, Bell.WORK, pool.wake)
        working = [asyncio.create_task(pool.run()), asyncio.create_task(listener.run())]
        async with asyncio.timeout(10):
            while not listener.connected:  # noqa: ASYNC110
                await asyncio.sleep(0.005)
        try:
            yield pool
        finally:
            for task in working:
                task.cancel()
            await asyncio.gather(*working, return_exceptions=True)
            await pool.drain(grace_s)

    return open_pool
