"""Repairs the queue from Postgres, in every worker at once.

While Redis takes jobs, it enqueues what is due and has no job: lost in a crash, or with Redis' memory. While Redis is
away it runs what is due itself, through the same functions. Claims and row locks in Postgres keep everything single.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import structlog

from app.clock import now
from app.errors import Unavailable
from app.follow_ups import queries as follow_ups
from app.observability import metrics
from app.queue import Job, JobQueue
from app.tasks import queueing as tasks
from app.tasks.sweeper import sweep as end_overdue
from jobs.context import JobContext
from jobs.functions import Function, is_task
from jobs.repeat import repeat
from jobs.woken_worker import FOLLOW_UPS_AT_A_TIME

log = structlog.get_logger(__name__)
EVERY_S = 2.0
EVERY_S_DEGRADED = 0.25
# What is due for so long while there is room was started by a worker of arq's own that was killed: arq keeps such a job
# from all others for as long as a task may take.
OVERDUE = timedelta(seconds=30)
LOOKS_AT = 1_000  # due jobs; in the order in which they start, so those behind them can wait for the next sweep


class Sweeper:
    def __init__(self, job: JobContext, queue: JobQueue, functions: Mapping[str, Function]) -> None:
        self._job = job
        self._queue = queue
        self._functions = functions
        self._running: dict[str, asyncio.Task[Any]] = {}
        self.degraded = False

    async def run(self) -> None:
        """Sweeps until cancelled. What it runs itself goes on."""
        await repeat(self.sweep, asyncio.Event(), lambda: EVERY_S_DEGRADED if self.degraded else EVERY_S)

    async def sweep(self) -> None:
        if ended := await end_overdue(self._job.transaction):
            log.info("overdue tasks ended", count=ended)
        due = [
            *await follow_ups.due_jobs(self._job.database, limit=LOOKS_AT),
            *await tasks.due_jobs(self._job.database, limit=LOOKS_AT),
        ]
        _measure(due)
        if self.degraded:
            self._run_here(due)
        try:
            await self._repair_queue(due)
        except Unavailable as error:
            if not self.degraded:
                self._run_here(due)
            self._set_degraded(True, error)
        else:
            self._set_degraded(False)
            self._run_here([job for job in due if now() - job.due_at > OVERDUE])

    async def _repair_queue(self, due: list[Job]) -> None:
        await self._queue.check_writable()
        await self._queue.advance_cron_jobs()
        metrics.QUEUE_REPAIRED.inc(await self._queue.repair(due))

    def _run_here(self, due: list[Job]) -> None:
        """Starts as many as there is room for; the next sweep starts more."""
        task_room = self._job.runner.slots.free
        follow_up_room = FOLLOW_UPS_AT_A_TIME - sum(not is_task(job_id) for job_id in self._running)
        startable = [job for job in due if job.function in self._functions and job.id not in self._running]
        tasks_due = [job for job in startable if is_task(job.id)]
        follow_ups_due = [job for job in startable if not is_task(job.id)]
        for job in [*follow_ups_due[: max(follow_up_room, 0)], *tasks_due[: max(task_room, 0)]]:
            self._start(job)

    def _start(self, job: Job) -> None:
        running = asyncio.create_task(self._call(job))
        self._running[job.id] = running
        running.add_done_callback(lambda _: self._running.pop(job.id))

    async def _call(self, job: Job) -> None:
        try:
            await self._functions[job.function](self._job.as_arq_context(), *job.args)
        except Unavailable:
            return
        except Exception:
            log.exception("job failed; it will be retried", job=job.id)

    def _set_degraded(self, degraded: bool, error: Unavailable | None = None) -> None:
        if degraded and not self.degraded:
            log.warning("Redis takes no jobs; running what is due without it", error=repr(error and error.__cause__))
        elif self.degraded and not degraded:
            log.info("Redis takes jobs again")
        self.degraded = degraded
        metrics.QUEUE_DEGRADED.set(degraded)


def _measure(due: list[Job]) -> None:
    """Counts at most LOOKS_AT of each sort: operators are alerted long before."""
    for sort, jobs in (
        ("task", [job for job in due if is_task(job.id)]),
        ("follow_up", [job for job in due if not is_task(job.id)]),
    ):
        waited_s = max(((now() - job.due_at).total_seconds() for job in jobs), default=0.0)
        metrics.QUEUE_DEPTH.labels(sort).set(len(jobs))
        metrics.QUEUE_OLDEST.labels(sort).set(max(waited_s, 0.0))
