"""Writes requests of concurrent jobs together."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from typing import Generic, TypeVar

Request = TypeVar("Request")
Outcome = TypeVar("Outcome")
MAX_SIZE = 50
BUSY_S = 0.03


class Batch(Generic[Request, Outcome]):
    """`write` gets the gathered requests and returns their outcomes in the same order. The first request after a pause
    is written at once; while they keep coming, each write waits for others for `linger_s`, because a transaction of one
    costs nearly as much as one of ten."""

    def __init__(self, write: Callable[[Sequence[Request]], Awaitable[Sequence[Outcome]]], *, linger_s: float) -> None:
        self._write = write
        self._linger_s = linger_s
        self._waiting: deque[tuple[Request, asyncio.Future[Outcome]]] = deque()
        self._writing: asyncio.Task[None] | None = None
        self._written_at = 0.0

    async def add(self, request: Request) -> Outcome:
        """Raises what the write raised."""
        outcome: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()
        self._waiting.append((request, outcome))
        if self._writing is None or self._writing.done():
            self._writing = asyncio.create_task(self._write_all())
        return await outcome

    async def _write_all(self) -> None:
        time = asyncio.get_running_loop().time
        while self._waiting:
            if time() - self._written_at < BUSY_S and len(self._waiting) < MAX_SIZE:
                await asyncio.sleep(self._linger_s)
            gathered = [self._waiting.popleft() for _ in range(min(len(self._waiting), MAX_SIZE))]
            try:
                outcomes = await self._write([request for request, _ in gathered])
            except Exception as error:
                for _, future in gathered:
                    if not future.done():
                        future.set_exception(error)
                continue
            finally:
                self._written_at = time()
            for (_, future), outcome in zip(gathered, outcomes, strict=True):
                if not future.done():
                    future.set_result(outcome)
