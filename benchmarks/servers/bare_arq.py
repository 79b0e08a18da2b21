"""arq's worker at its defaults: a job records its start and runs one UPDATE."""

from __future__ import annotations

import asyncio
import os
from typing import Any

import asyncpg
from arq import Worker, create_pool
from arq.connections import RedisSettings

from benchmarks.starts import Starts, serve_commands

MAX_JOBS = 10  # arq's default; more connections would stay unused
UPDATE = "update bench_job set done = true, updated_at = now() where id = $1"


async def job(ctx: dict[str, Any], number: int) -> None:
    ctx["starts"].record(str(number))
    await ctx["database"].execute(UPDATE, number)


async def main() -> None:
    starts, settings = Starts(), RedisSettings.from_dsn(os.environ["REDIS_URL"])
    database = await asyncpg.create_pool(os.environ["DATABASE_URL"], min_size=MAX_JOBS, max_size=MAX_JOBS)
    ctx = {"starts": starts, "database": database}
    worker = Worker(functions=[job], redis_pool=await create_pool(settings), ctx=ctx)
    await serve_commands(starts, worker.async_run)


if __name__ == "__main__":
    asyncio.run(main())
