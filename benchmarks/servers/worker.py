"""Parley's worker as shipped, except that its agents answer without a model."""

from __future__ import annotations

import asyncio

import uvloop

from app.config import load_settings
from app.observability.logging import configure_logging
from app.tasks.run import Made, Run
from benchmarks.starts import Starts, serve_commands
from jobs.process import WorkerProcess
from jobs.worker import WorkerSettings


async def main() -> None:
    settings, starts = load_settings(), Starts()
    configure_logging(settings)

    async def answer_at_once(run: Run) -> Made:
        starts.record(str(run.task.id))
        return Made("done")

    process = WorkerProcess(settings, answer_at_once)

    async def work() -> None:
        process.start()
        await process.work(WorkerSettings, asyncio.Event())

    await serve_commands(starts, work)


if __name__ == "__main__":
    uvloop.run(main())
