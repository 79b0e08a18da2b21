"""The worker: arq's loop under one that survives the loss of Redis and Postgres. Composition root."""

from __future__ import annotations

import asyncio
import signal
from typing import Any

import structlog
from arq import Worker, cron, func
from prometheus_client import start_http_server

from app.config import Settings
from app.db import tables  # noqa: F401 - a flush follows foreign keys into slices that nothing else here imports
from app.db.engine import Database
from app.db.transaction import Bell, Transactions
from app.errors import Unavailable
from app.events.wakeups import Listener, Ringer
from app.inference.providers import Providers
from app.managed.execution import Execution
from app.observability.logging import configure_logging
from app.queue import QUEUE, JobName, deserialize, redis_settings, serialize
from app.redis import Redis
from jobs.context import JobContext
from jobs.maintenance import forget_idempotency, maintain_events
from jobs.task_pool import TaskPool

log = structlog.get_logger(__name__)
FUNCTIONS = {
    JobName.MAINTAIN_EVENTS: maintain_events,
    JobName.FORGET_IDEMPOTENCY: forget_idempotency,
}
_AWAY_PAUSE_S = 1.0
POLL_DELAY_S = 2.0  # nothing in the queue is urgent: work that is comes by the bell


def run_worker(settings: Settings) -> None:
    configure_logging(settings)
    asyncio.run(_run(settings))


async def _run(settings: Settings) -> None:
    stopping = asyncio.Event()
    for name in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(name, stopping.set)
    database, redis = Database(settings), Redis(settings)
    ringer, providers = Ringer(redis), Providers(settings)
    context = JobContext(settings, database, Transactions(database, ringer))
    execution = Execution(settings, database, providers)
    pool = TaskPool(database, context.transaction, execution, slots=settings.worker_slots)
    if settings.worker_metrics_port:
        start_http_server(settings.worker_metrics_port, settings.host)
    log.info("worker starts", slots=settings.worker_slots)
    try:
        await asyncio.gather(
            run_pool(pool, Listener(settings, Bell.WORK, pool.wake), stopping, settings.shutdown_grace_s),
            _keep_calendar(stopping, settings, context, redis),
        )
    finally:
        await providers.close()
        await ringer.close()
        await redis.close()
        await database.close()
    log.info("worker stopped")


async def run_pool(pool: TaskPool, listener: Listener, stopping: asyncio.Event, grace_s: float) -> None:
    """Hears the bell until the last run has ended: a task that is cancelled meanwhile is to stop."""
    listening, working = asyncio.create_task(listener.run()), asyncio.create_task(pool.run())
    await stopping.wait()
    working.cancel()
    await asyncio.gather(working, return_exceptions=True)
    await pool.drain(grace_s)
    listening.cancel()
    await asyncio.gather(listening, return_exceptions=True)


async def _keep_calendar(stopping: asyncio.Event, settings: Settings, context: JobContext, redis: Redis) -> None:
    while not stopping.is_set():
        await _work_until(stopping, settings, context, redis)


async def _work_until(stopping: asyncio.Event, settings: Settings, context: JobContext, redis: Redis) -> None:
    """One life of an arq worker: ends when asked to stop, or when Redis is lost."""
    try:
        await redis.ping()
    except Unavailable:
        await _pause(stopping)
        return
    worker = _worker(settings, context)
    working, asked = asyncio.create_task(worker.async_run()), asyncio.create_task(stopping.wait())
    await asyncio.wait({working, asked}, return_when=asyncio.FIRST_COMPLETED)
    if working.done() and not stopping.is_set():
        log.warning("the queue was lost; the worker starts again", error=repr(working.exception()))
        await _pause(stopping)
    asked.cancel()
    await _finish(worker, working, settings.shutdown_grace_s)


async def _finish(worker: Worker, working: asyncio.Task[Any], grace_s: float) -> None:
    """Take no more jobs, let running ones end within the grace time, then close."""
    worker.allow_pick_jobs = False
    running = [task for task in worker.tasks.values() if not task.done()]
    if running:
        await asyncio.wait(running, timeout=grace_s)
    working.cancel()
    await asyncio.gather(working, return_exceptions=True)
    try:
        async with asyncio.timeout(2):
            await worker.close()
    except Exception as error:
        log.debug("closing the queue's connection", error=repr(error))


async def _pause(stopping: asyncio.Event) -> None:
    try:
        async with asyncio.timeout(_AWAY_PAUSE_S):
            await stopping.wait()
    except TimeoutError:
        return


def _worker(settings: Settings, context: JobContext) -> Worker:
    assert settings.redis_url is not None
    ctx: dict[str, Any] = {}
    context.put_into(ctx)
    return Worker(
        functions=[func(function, name=name.value) for name, function in FUNCTIONS.items()],
        cron_jobs=[
            cron(maintain_events, name=f"cron:{JobName.MAINTAIN_EVENTS}", minute={7}, run_at_startup=True),
            cron(forget_idempotency, name=f"cron:{JobName.FORGET_IDEMPOTENCY}", minute={11, 41}),
        ],
        redis_settings=redis_settings(settings.redis_url),
        queue_name=QUEUE,
        ctx=ctx,
        max_tries=1,
        keep_result=0,
        poll_delay=POLL_DELAY_S,
        job_timeout=300,
        handle_signals=False,
        job_serializer=serialize,
        job_deserializer=deserialize,
    )
