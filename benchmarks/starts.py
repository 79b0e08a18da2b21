"""Notes when runs start, and tells whoever ordered them: the part that both workers of the benchmark share.

Noting is one entry in a dictionary; what was noted is told when asked, after the measured time.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import Awaitable, Callable
from typing import Any

PATIENCE_S = 60.0


class Starts:
    """Times are of the monotonic clock, which all processes of a machine share."""

    def __init__(self) -> None:
        self.expect(0)

    def expect(self, count: int) -> None:
        self._missing = count
        self._at: dict[str, int] = {}
        self._all = asyncio.Event()

    def note(self, key: str) -> None:
        self._at[key] = time.monotonic_ns()
        self._missing -= 1
        if not self._missing:
            self._all.set()

    async def all(self) -> dict[str, int]:
        async with asyncio.timeout(PATIENCE_S):
            await self._all.wait()
        return self._at


async def obey(starts: Starts, work: Callable[[], Awaitable[None]]) -> None:
    """`go` lets the worker begin, `expect` says how many runs come next, `wait` asks when they started."""
    loop, working = asyncio.get_running_loop(), None
    print("{}", flush=True)
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        order: dict[str, Any] = json.loads(line)
        answer: dict[str, Any] = {}
        if "go" in order:
            answer["at"] = time.monotonic_ns()
            working = asyncio.ensure_future(work())
            working.add_done_callback(_refuse_end)
        elif "expect" in order:
            starts.expect(order["expect"])
        else:
            answer["starts"] = await starts.all()
        print(json.dumps(answer), flush=True)


def _refuse_end(working: asyncio.Future[Any]) -> None:
    if not working.cancelled():
        sys.exit(f"the worker ended: {working.exception()!r}")
