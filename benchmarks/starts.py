"""Records when runs start and reports it on command. Both workers of the task benchmark share this.

Recording is one entry in a dictionary; the report is sent after the measured time.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import Awaitable, Callable
from typing import Any

TIMEOUT_S = 60.0


class Starts:
    """Start times by the monotonic clock, which all processes of a machine share."""

    def __init__(self) -> None:
        self.expect(0)

    def expect(self, count: int) -> None:
        self._missing = count
        self._started_at: dict[str, int] = {}
        self._all_started = asyncio.Event()

    def record(self, key: str) -> None:
        self._started_at[key] = time.monotonic_ns()
        self._missing -= 1
        if not self._missing:
            self._all_started.set()

    async def wait_for_all(self) -> dict[str, int]:
        async with asyncio.timeout(TIMEOUT_S):
            await self._all_started.wait()
        return self._started_at


async def serve_commands(starts: Starts, work: Callable[[], Awaitable[None]]) -> None:
    """`start` starts the worker, `expect` sets how many runs come next, `wait` returns when they started."""
    loop, worker = asyncio.get_running_loop(), None
    print("{}", flush=True)
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        command: dict[str, Any] = json.loads(line)
        answer: dict[str, Any] = {}
        if "start" in command:
            answer["at"] = time.monotonic_ns()
            worker = asyncio.ensure_future(work())
            worker.add_done_callback(_exit_with_error)
        elif "expect" in command:
            starts.expect(command["expect"])
        else:
            answer["starts"] = await starts.wait_for_all()
        print(json.dumps(answer), flush=True)


def _exit_with_error(worker: asyncio.Future[Any]) -> None:
    if not worker.cancelled():
        sys.exit(f"the worker ended: {worker.exception()!r}")
