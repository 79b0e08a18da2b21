"""A worker says that it is degraded while Redis takes no jobs, and goes on."""

from __future__ import annotations

import asyncio

from app.config import Settings
from app.dev.redis import EmbeddedValkey
from app.observability import metrics
from app.tasks.models import TaskStatus
from app.tasks.run import Made, Run
from jobs.process import WorkerProcess
from tests.fixtures.desk import Desk
from tests.fixtures.workers import running_worker
from tests.jobs.test_tasks import until_status

PATIENCE_S = 30.0
BACK_S = 5.0


async def complete(run: Run) -> Made:
    return Made("done")


async def until_degraded(worker: WorkerProcess, expected: bool, patience_s: float) -> None:
    async with asyncio.timeout(patience_s):
        while worker.sweeper.degraded is not expected:  # noqa: ASYNC110
            await asyncio.sleep(0.02)


async def test_a_worker_without_redis_says_so_and_runs_what_is_due_until_it_returns(
    desk: Desk, settings: Settings, own_valkey: EmbeddedValkey
) -> None:
    own = settings.model_copy(update={"redis_url": own_valkey.url()})
    async with running_worker(own, complete) as worker:
        await asyncio.to_thread(own_valkey.kill)
        await until_degraded(worker, True, PATIENCE_S)
        away = metrics.QUEUE_DEGRADED._value.get()
        task = await desk.delegate("kyra", "luke")
        await until_status(desk, task, TaskStatus.COMPLETED)
        await asyncio.to_thread(own_valkey.start)
        await until_degraded(worker, False, BACK_S)
        back = metrics.QUEUE_DEGRADED._value.get()

    assert (away, back) == (1, 0)
