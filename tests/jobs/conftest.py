"""A desk whose tasks are run by a real worker on the test's own database and Redis."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager

import pytest

from app.clock import now
from app.config import Flags, Settings, load_settings
from app.db.engine import Database
from app.db.transaction import Transactions
from app.dispatch import Dispatcher
from app.events import partitions
from app.redis import Redis
from app.teams import service as teams
from jobs.process import WorkerProcess
from jobs.task_runner import Execute
from tests.fixtures.desk import ACTOR, Desk
from tests.fixtures.workers import running_worker

Workers = Callable[..., AbstractAsyncContextManager[WorkerProcess]]


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
    dispatcher = Dispatcher(settings, database, redis)
    yield Transactions(database, dispatcher)
    await dispatcher.close()
    await redis.close()


@pytest.fixture
async def desk(transaction: Transactions, settings: Settings) -> Desk:
    async with transaction() as session:
        await partitions.ensure(session, now())
        team = await teams.create(session, slug="writers", name="Writers", actor=ACTOR)
    return Desk(transaction, settings, team.id)


@pytest.fixture
def workers(settings: Settings) -> Workers:
    """Workers whose tasks the test executes; they are stopped at the end, and give back what still runs."""

    def start(
        execute: Execute, *, slots: int = 5, grace_s: float = 0.1, settings: Settings = settings
    ) -> AbstractAsyncContextManager[WorkerProcess]:
        chosen = settings.model_copy(update={"worker_slots": slots, "shutdown_grace_s": grace_s})
        return running_worker(chosen, execute)

    return start
