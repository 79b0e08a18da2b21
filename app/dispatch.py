"""Delivers to Redis what committed transactions left to do: enqueues jobs and publishes wake-ups.

Nobody waits for it. What is lost on the way is found by pollers and by the workers' sweeper.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import structlog

from app.config import Settings
from app.db.engine import Database
from app.db.transaction import AfterCommit, WakeUp
from app.errors import Unavailable
from app.follow_ups import queries as follow_ups
from app.observability import metrics
from app.queue import JobQueue
from app.redis import Redis
from app.tasks import queueing as tasks
from app.wakeups import Publisher

log = structlog.get_logger(__name__)
CLOSE_TIMEOUT_S = 1.0


class Dispatcher:
    """Merges what gathers while a delivery is under way. `wake_here` is called at once for events of this process."""

    def __init__(
        self, settings: Settings, database: Database, redis: Redis, wake_here: Callable[[], None] = lambda: None
    ) -> None:
        self._database = database
        self._queue, self._publisher = JobQueue(redis), Publisher(settings, redis)
        self._wake_here = wake_here
        self._pending = AfterCommit()
        self._delivering: asyncio.Task[None] | None = None

    async def __call__(self, pending: AfterCommit) -> None:
        if WakeUp.EVENTS in pending.wake_ups:
            self._wake_here()
        self._pending.add(pending)
        if self._delivering is None or self._delivering.done():
            self._delivering = asyncio.create_task(self._deliver_all())

    async def _deliver_all(self) -> None:
        while self._pending:
            batch, self._pending = self._pending, AfterCommit()
            try:
                await self._deliver(batch)
            except Unavailable:
                metrics.DISPATCHES_LOST.inc()
            except Exception:
                metrics.DISPATCHES_LOST.inc()
                log.exception("dispatching after a commit failed; pollers and the sweeper will repair it")

    async def _deliver(self, batch: AfterCommit) -> None:
        """Jobs first: a task that starts late is noticed sooner than an event that is shown late."""
        if batch.task_ids or batch.follow_up_ids:
            await self._enqueue(batch)
            batch.wake_ups.add(WakeUp.JOBS)
        for wake_up in (WakeUp.JOBS, WakeUp.EVENTS):
            if wake_up in batch.wake_ups:
                await self._publisher.publish(wake_up)
        if batch.started_job_ids:
            await self._queue.remove(batch.started_job_ids)

    async def _enqueue(self, batch: AfterCommit) -> None:
        if batch.follow_up_ids:
            await self._queue.enqueue(await follow_ups.jobs_of(self._database, batch.follow_up_ids))
        if batch.task_ids:
            await self._queue.enqueue(await tasks.jobs_of(self._database, batch.task_ids))

    async def close(self) -> None:
        if self._delivering is not None:
            await asyncio.wait({self._delivering}, timeout=CLOSE_TIMEOUT_S)
        await self._publisher.close()
