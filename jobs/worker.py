"""The worker: arq's loop under one that survives the loss of Redis and Postgres. Composition root."""

from __future__ import annotations

import asyncio
import signal
from typing import Any

import structlog
import uvloop
from arq import Worker, cron, func
from prometheus_client import start_http_server

from app.config import Settings
from app.consultations.preparation import Consulting
from app.conversations.partials import Speaker
from app.db import tables  # noqa: F401 - a flush follows foreign keys into slices that nothing else here imports
from app.db.engine import Database
from app.db.transaction import Bell, Transactions
from app.embeddings.choice import embedder_of
from app.errors import Unavailable
from app.events.wakeups import Listener, Ringer
from app.inference.providers import Providers
from app.managed.execution import Execution
from app.memories.library import Library
from app.observability.logging import configure_logging
from app.queue import QUEUE, JobName, deserialize, redis_settings, serialize
from app.redis import Redis
from app.routing.lexicon import lexicon
from app.routing.service import Routing
from app.routing.team_indexes import TeamIndexes
from jobs.context import JobContext
from jobs.errand_runner import ErrandRunner
from jobs.errands import all_deeds, last_resorts
from jobs.maintenance import forget_idempotency, forget_memories, maintain_events
from jobs.task_pool import TaskPool

log = structlog.get_logger(__name__)
FUNCTIONS = {
    JobName.MAINTAIN_EVENTS: maintain_events,
    JobName.FORGET_IDEMPOTENCY: forget_idempotency,
    JobName.FORGET_MEMORIES: forget_memories,
}
_AWAY_PAUSE_S = 1.0
ERRANDS_LATER_S = 0.002
POLL_DELAY_S = 2.0  # nothing in the queue is urgent: work that is comes by the bell


def run_worker(settings: Settings) -> None:
    configure_logging(settings)
    uvloop.run(_run(settings))


async def _run(settings: Settings) -> None:
    stopping = asyncio.Event()
    for name in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(name, stopping.set)
    database, redis = Database(settings), Redis(settings)
    ringer, providers = Ringer(redis), Providers(settings)
    context = JobContext(settings, database, Transactions(database, ringer))
    speaker = Speaker(redis)
    embedder = embedder_of(settings.embedder)
    library, indexes = Library(database, context.transaction, embedder, redis), TeamIndexes(database, embedder)
    routing = Routing(database, context.transaction, settings, embedder, indexes)
    consulting = Consulting(settings, database, routing, indexes, embedder, library)
    execution = Execution(settings, database, providers, library, speaker, consulting)
    pool = TaskPool(database, context.transaction, execution, slots=settings.worker_slots)
    errands = ErrandRunner(database, context.transaction, all_deeds(settings), last_resorts(settings))
    if settings.worker_metrics_port:
        start_http_server(settings.worker_metrics_port, settings.host)
    reading = asyncio.create_task(asyncio.to_thread(lexicon))  # the first message need not wait for it
    log.info("worker starts", slots=settings.worker_slots)
    try:
        await asyncio.gather(
            run_pool(settings, pool, errands, stopping),
            keep_calendar(stopping, settings, context, redis),
        )
    finally:
        await _end(reading)
        await providers.close()
        await speaker.close()
        await ringer.close()
        await redis.close()
        await database.close()
    log.info("worker stopped")


async def run_pool(settings: Settings, pool: TaskPool, errands: ErrandRunner, stopping: asyncio.Event) -> None:
    """Hears the bell until the last run has ended: a task that is cancelled meanwhile is to stop."""

    def wake() -> None:
        pool.wake()
        # A task that starts is waited for: nothing else is done between the bell and its claim.
        asyncio.get_running_loop().call_later(ERRANDS_LATER_S, errands.wake)

    listening = asyncio.create_task(Listener(settings, Bell.WORK, wake).run())
    working = [asyncio.create_task(pool.run()), asyncio.create_task(errands.run())]
    await stopping.wait()
    await _end(*working)
    await pool.drain(settings.shutdown_grace_s)
    await _end(listening)


async def _end(*tasks: asyncio.Task[Any]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def keep_calendar(stopping: asyncio.Event, settings: Settings, context: JobContext, redis: Redis) -> None:
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
            cron(forget_memories, name=f"cron:{JobName.FORGET_MEMORIES}", minute={23}),
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
