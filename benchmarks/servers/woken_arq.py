"""arq's worker with Parley's wake-up and slots, and nothing else: a job records its start and runs one UPDATE."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any

import asyncpg
import uvloop
from arq import Worker, create_pool

from app.config import load_settings
from app.db.transaction import WakeUp
from app.queue import redis_settings
from app.wakeups import Listener
from benchmarks.servers.bare_arq import job
from benchmarks.starts import Starts, serve_commands

SLOTS = 20


class WokenWorker(Worker):
    """Polls when it is woken and when a job ends, else every half second."""

    woken: asyncio.Event

    async def main(self) -> None:
        while True:
            self.woken.clear()
            await self._poll_iteration()
            with suppress(TimeoutError):
                async with asyncio.timeout(self.poll_delay_s):
                    await self.woken.wait()

    def _release_sem_dec_counter_on_complete(self) -> None:
        super()._release_sem_dec_counter_on_complete()
        self.woken.set()


async def main() -> None:
    starts, settings = Starts(), load_settings()
    database = await asyncpg.create_pool(settings.database_url, min_size=SLOTS, max_size=SLOTS)
    ctx: dict[str, Any] = {"starts": starts, "database": database}
    redis = await create_pool(redis_settings(settings.redis_url))
    worker = WokenWorker(functions=[job], redis_pool=redis, ctx=ctx, max_jobs=SLOTS, keep_result=0)
    worker.woken = asyncio.Event()
    listener = Listener(settings, WakeUp.JOBS, worker.woken.set)

    async def work() -> None:
        await asyncio.gather(listener.run(), worker.async_run())

    await serve_commands(starts, work)


if __name__ == "__main__":
    uvloop.run(main())
