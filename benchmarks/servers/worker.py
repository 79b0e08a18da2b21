"""Parley's worker as shipped, except that its agents answer without a model."""

from __future__ import annotations

import asyncio

import uvloop

from app.config import load_settings
from app.db.engine import Database
from app.db.transaction import Transactions
from app.events.wakeups import Ringer
from app.observability.logging import configure_logging
from app.redis import Redis
from app.tasks.run import Made, Run
from benchmarks.starts import Starts, serve_commands
from jobs.context import JobContext
from jobs.errand_runner import ErrandRunner
from jobs.errands import all_deeds
from jobs.task_pool import TaskPool
from jobs.worker import keep_calendar, run_pool


async def main() -> None:
    settings, starts = load_settings(), Starts()
    configure_logging(settings)
    database, redis = Database(settings), Redis(settings)
    context = JobContext(settings, database, Transactions(database, Ringer(redis)))

    async def answer_at_once(run: Run) -> Made:
        starts.record(str(run.task.id))
        return Made("done")

    pool = TaskPool(database, context.transaction, answer_at_once, slots=settings.worker_slots)
    errands = ErrandRunner(database, context.transaction, all_deeds(settings))

    async def work() -> None:
        never = asyncio.Event()
        await asyncio.gather(run_pool(settings, pool, errands, never), keep_calendar(never, settings, context, redis))

    await serve_commands(starts, work)


if __name__ == "__main__":
    uvloop.run(main())
