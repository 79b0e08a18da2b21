"""The worker's settings for arq, and `parley worker`.

`parley worker` runs the same functions as `arq jobs.worker.WorkerSettings`. Beyond what arq's own worker does, it is
woken instead of polling, keeps slots for tasks, leaves unknown jobs to newer workers and outlives the loss of Redis.
"""

from __future__ import annotations

import asyncio
import signal
from typing import Any, ClassVar

import uvloop
from arq import cron, func

from app.config import Settings, load_settings
from app.db import tables  # noqa: F401 - a flush follows foreign keys into slices that nothing else here imports
from app.observability.logging import configure_logging
from app.queue import QUEUE, deserialize, redis_settings, serialize
from jobs.functions import FUNCTIONS
from jobs.maintenance import forget_idempotency, forget_memories, maintain_events
from jobs.process import WorkerProcess

MAX_TASK_S = 86_400 + 60  # the longest time that a task may be given; the task's own limit ends it
FOLLOW_UP_TIMEOUT_S = 60
HEALTH_CHECK_S = 5
_PROCESS = "process"
_SETTINGS = load_settings()  # arq reads its settings when this module is imported


async def start_process(ctx: dict[str, Any]) -> None:
    settings = load_settings()
    configure_logging(settings)
    process = WorkerProcess(settings)
    ctx |= process.context.as_arq_context() | {_PROCESS: process}
    process.start()


async def stop_process(ctx: dict[str, Any]) -> None:
    await ctx[_PROCESS].stop()


class WorkerSettings:
    """Read by arq. Postgres decides on retries and keeps results: arq runs again only what a worker left unfinished,
    and a job that finds its work done ends at once."""

    functions: ClassVar = [
        func(function, name=name, timeout=MAX_TASK_S if name == "execute_task" else FOLLOW_UP_TIMEOUT_S)  # type: ignore[arg-type]
        for name, function in FUNCTIONS.items()
    ]
    cron_jobs: ClassVar = [
        cron(maintain_events, name="cron:maintain_events", minute={7}, run_at_startup=True),
        cron(forget_idempotency, name="cron:forget_idempotency", minute={11, 41}),
        cron(forget_memories, name="cron:forget_memories", minute={23}),
    ]
    on_startup = start_process
    on_shutdown = stop_process
    redis_settings = redis_settings(_SETTINGS.redis_url)
    queue_name = QUEUE
    job_serializer = serialize
    job_deserializer = deserialize
    max_tries = 1_000  # Postgres counts
    keep_result = 0
    max_jobs = _SETTINGS.worker_slots
    poll_delay = 0.5
    health_check_interval = HEALTH_CHECK_S
    log_results = False


def run_worker(settings: Settings) -> None:
    configure_logging(settings)
    uvloop.run(_run(settings))


async def _run(settings: Settings) -> None:
    stopping = asyncio.Event()
    for name in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(name, stopping.set)
    process = WorkerProcess(settings)
    process.start()
    try:
        await process.work(WorkerSettings, stopping)
    finally:
        await process.stop()
