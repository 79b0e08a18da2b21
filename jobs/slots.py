"""How many tasks a worker runs at a time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager


class Slots:
    """A job reserves a slot before arq starts it, and occupies it while its task runs. The two are kept apart because a
    run goes on when arq's side of it dies with Redis."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._reserved: set[str] = set()
        self._occupied = 0
        self._resting = 0
        self._changed = asyncio.Event()
        self.on_free: Callable[[], None] = lambda: None  # called when a slot becomes free

    @property
    def free(self) -> int:
        return self._size - len(self._reserved) - self._occupied + self._resting

    def reserve(self, job_id: str) -> bool:
        """Takes a slot for a job that is about to start; False when none is free."""
        if self.free <= 0:
            return False
        self._reserved.add(job_id)
        return True

    def cancel_reservation(self, job_id: str) -> None:
        if job_id in self._reserved:
            self._reserved.remove(job_id)
            self._notify()

    @asynccontextmanager
    async def occupy(self, job_id: str | None) -> AsyncIterator[None]:
        """Holds a slot: the reserved one, else the next that is free."""
        if job_id in self._reserved:
            self._reserved.remove(job_id)
        else:
            while self.free <= 0:
                self._changed.clear()
                await self._changed.wait()
        self._occupied += 1
        try:
            yield
        finally:
            self._occupied -= 1
            self._notify()

    @asynccontextmanager
    async def rest(self) -> AsyncIterator[None]:
        """Lends the slot of a run that only waits for others, so that waiting tasks never hold up what they wait for.
        Coming back it does not queue: for a moment more tasks may run than there are slots."""
        self._resting += 1
        self._notify()
        try:
            yield
        finally:
            self._resting -= 1

    def _notify(self) -> None:
        self._changed.set()
        self.on_free()
