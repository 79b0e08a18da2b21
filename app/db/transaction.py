"""The one place that commits. What must happen after a commit is remembered on the session and done then."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any
from uuid import UUID

import asyncpg
import structlog
from sqlalchemy.ext.asyncio import AsyncSession

from app.db.engine import Database, available

log = structlog.get_logger(__name__)


class WakeUp(StrEnum):
    """Who should look now instead of at its next poll; the value is the Redis channel."""

    EVENTS = "parley:events"  # readers of the event log
    JOBS = "parley:jobs:wake"  # workers: a job was enqueued, or a claim was lost


@dataclass(slots=True)
class AfterCommit:
    """What a transaction leaves to do once it is committed. Losing all of it is harmless: pollers and the sweeper find
    it again."""

    wake_ups: set[WakeUp] = field(default_factory=set)
    task_ids: list[UUID] = field(default_factory=list)  # to enqueue, if a worker can run them
    follow_up_ids: list[UUID] = field(default_factory=list)  # to enqueue
    started_job_ids: list[str] = field(default_factory=list)  # to take off the queue: Postgres knows who runs them

    def __bool__(self) -> bool:
        return bool(self.wake_ups or self.task_ids or self.follow_up_ids or self.started_job_ids)

    def add(self, other: AfterCommit) -> None:
        self.wake_ups |= other.wake_ups
        self.task_ids += other.task_ids
        self.follow_up_ids += other.follow_up_ids
        self.started_job_ids += other.started_job_ids


Dispatch = Callable[[AfterCommit], Awaitable[None]]


def after_commit(session: AsyncSession) -> AfterCommit:
    """What this session's transaction leaves to do; a rollback forgets it."""
    pending: AfterCommit = session.info.setdefault("after_commit", AfterCommit())
    return pending


def wake_after_commit(session: AsyncSession, wake_up: WakeUp) -> None:
    after_commit(session).wake_ups.add(wake_up)


def enqueue_task_after_commit(session: AsyncSession, task_id: UUID) -> None:
    after_commit(session).task_ids.append(task_id)


class Statement:
    """A single statement that commits itself, and what is left to do afterwards."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection
        self.after_commit = AfterCommit()

    async def fetch(self, sql: str, *arguments: Any) -> list[asyncpg.Record]:
        rows: list[asyncpg.Record] = await self._connection.fetch(sql, *arguments)
        return rows


class Transactions:
    """Opens transactions on one database and dispatches what they leave to do."""

    def __init__(self, database: Database, dispatch: Dispatch) -> None:
        self._database = database
        self._dispatch = dispatch

    @asynccontextmanager
    async def __call__(self) -> AsyncIterator[AsyncSession]:
        """Commits on a clean exit, rolls back on an error; raises Unavailable when the database is away."""
        async with available(), self._database.sessions() as session:
            async with session.begin():
                yield session
            # Before the connection is given back: whoever waits for the work need not wait for that.
            await self._dispatch_safely(session.info.pop("after_commit", None))

    @asynccontextmanager
    async def of_one_statement(self) -> AsyncIterator[Statement]:
        """For a single statement that commits itself, without SQLAlchemy between: one round trip instead of three, and
        half the work."""
        async with available(), self._database.engine.connect() as connection:
            statement = Statement((await connection.get_raw_connection()).driver_connection)
            yield statement
        await self._dispatch_safely(statement.after_commit)

    async def _dispatch_safely(self, pending: AfterCommit | None) -> None:
        if not pending:
            return
        try:
            await self._dispatch(pending)
        except Exception as error:
            log.warning("could not dispatch after a commit; pollers and the sweeper will", error=repr(error))
