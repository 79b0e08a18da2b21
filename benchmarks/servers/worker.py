"""Parley's worker as shipped (pool, bell, queue, sweeper), except that its agents answer at once, without a model."""

from __future__ import annotations

import asyncio

from app.config import load_settings
from app.db.engine import Database
from app.db.transaction import Bell, Transactions
from app.events.wakeups import Listener, Ringer
from app.observability.logging import configure_logging
from app.redis import Redis
from app.tasks.run import Made, Run
from benchmarks.starts import Starts, obey
from jobs.context import JobContext
from jobs.task_pool import TaskPool
from jobs.worker import _work_until


async def main() -> None:
    settings, starts = load_settings(), Starts()
    configure_logging(settings)
    database, redis = Database(settings), Redis(settings)
    context = JobContext(settings, database, Transactions(database, Ringer(redis)))

    async def answer_at_once(run: Run) -> Made:
        starts.note(str(run.task.id))
        return Made("done")

    pool = TaskPool(database, context.transaction, answer_at_once, slots=settings.worker_slots)
    listener = Listener(settings, Bell.WORK, pool.wake)

    async def work() -> None:
        queue = _work_until(asyncio.Event(), settings, context, redis)
        await asyncio.gather(pool.run(), listener.run(), queue)

    await obey(starts, work)


if __name__ == "__main__":
    asyncio.run(main())
