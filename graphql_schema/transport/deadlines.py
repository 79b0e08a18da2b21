"""Ends work that takes too long. One clock for all of it: a timer for each request would cost more than some do."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import Any, TypeVar

T = TypeVar("T")
CHECKS = 20  # times in the allowed span: work may overrun it by a twentieth


class Deadlines:
    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._running: dict[asyncio.Task[Any], float] = {}  # by age, oldest first
        self._late: set[asyncio.Task[Any]] = set()
        self._clock: asyncio.TimerHandle | None = None

    async def keep(self, work: Awaitable[T]) -> T:
        """Raises TimeoutError when the work, which is cancelled then, takes longer than the allowed span."""
        task, loop = asyncio.current_task(), asyncio.get_running_loop()
        assert task is not None
        self._running[task] = loop.time() + self._seconds
        if self._clock is None:
            self._clock = loop.call_later(self._seconds / CHECKS, self._check)
        try:
            return await work
        except asyncio.CancelledError:
            if task not in self._late or task.uncancel() > 0:
                raise
            raise TimeoutError from None
        finally:
            self._running.pop(task, None)
            self._late.discard(task)

    def _check(self) -> None:
        loop = asyncio.get_running_loop()
        now = loop.time()
        for task, deadline in list(self._running.items()):
            if deadline > now:
                break
            del self._running[task]
            self._late.add(task)
            task.cancel()
        self._clock = loop.call_later(self._seconds / CHECKS, self._check) if self._running else None
