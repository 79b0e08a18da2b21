"""Whether the process lives and whether it can serve; both answer quickly while Postgres or Redis hang."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any

import asyncpg
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from app.db import migrate
from app.db.engine import Database
from app.errors import AppError, Unavailable
from app.redis import Redis

TIMEOUT_S = 2.0
Check = Callable[[], Awaitable[object]]
"""Passes by returning, fails by raising; what it raises as AppError is shown."""


class Health:
    def __init__(self, database: Database, redis: Redis, checks: dict[str, Check] | None = None) -> None:
        """`checks` are further checks by name, such as that of the event tailer."""
        self._database = database
        self._head = migrate.head()
        self._checks = {
            "database": database.ping,
            "redis": redis.ping,
            "migrations": self._migrated,
            **(checks or {}),
        }
        self.closing = False

    @property
    def routes(self) -> list[Route]:
        return [Route("/healthz", self._alive), Route("/readyz", self._ready)]

    async def _alive(self, request: Request) -> Response:
        return JSONResponse({"status": "ok"})

    async def _ready(self, request: Request) -> Response:
        results = dict(zip(self._checks, await asyncio.gather(*map(_run, self._checks.values())), strict=True))
        if self.closing:
            results["shutdown"] = {"ok": False, "message": "This process is shutting down."}
        failed = {name for name, result in results.items() if not result["ok"]}
        status = "ready" if not failed else "degraded" if failed <= _DISPENSABLE else "not ready"
        return JSONResponse({"status": status, "checks": results}, 503 if status == "not ready" else 200, _NOT_KEPT)

    async def _migrated(self) -> None:
        try:
            current = await self._database.fetchval("select version_num from alembic_version")
        except asyncpg.UndefinedTableError:
            current = None
        if current != self._head:
            at = f"is at migration {current}" if current else "is empty"
            raise Unavailable(f"The database {at}, this version needs {self._head}: run `parley migrate`.")


_NOT_KEPT = {"cache-control": "no-store"}
# Without Redis everything works, but later: streams and workers poll, and limits are counted per process.
_DISPENSABLE = {"redis"}


async def _run(check: Check) -> dict[str, Any]:
    started = time.perf_counter()
    try:
        async with asyncio.timeout(TIMEOUT_S):
            await check()
    except TimeoutError:
        return {"ok": False, "message": f"No answer within {TIMEOUT_S:.0f} seconds."}
    except AppError as error:
        return {"ok": False, "message": error.message}
    except Exception as error:
        return {"ok": False, "message": f"Failed with {type(error).__name__}."}
    return {"ok": True, "ms": round(1000 * (time.perf_counter() - started), 1)}
