"""Writes requests of concurrent jobs together: while one write is under way, the next requests gather."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from typing import Generic, TypeVar

Request = TypeVar("Request")
Outcome = TypeVar("Outcome")
MAX_SIZE = 50


class Batch(Generic[Request, Outcome]):
    """`write` gets the gathered requests and returns their outcomes in the same order."""

    def __init__(self, write: Callable[[Sequence[Request]], Awaitable[Sequence[Outcome]]]) -> None:
        self._write = write
        self._waiting: deque[tuple[Request, asyncio.Future[Outcome]]] = deque()
        self._writing: asyncio.Task[None] | None = None

    async def add(self, request: Request) -> Outcome:
        """Raises what the write raised."""
        outcome: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()
        self._waiting.append((request, outcome))
        if self._writing is None or self._writing.done():
            self._writing = asyncio.create_task(self._write_all())
        return await outcome

    async def _write_all(self) -> None:
        while self._waiting:
            gathered = [self._waiting.popleft() for _ in range(min(len(self._waiting), MAX_SIZE))]
            try:
                outcomes = await self._write([request for request, _ in gathered])
            except Exception as error:
                for _, future in gathered:
                    if not future.done():
                        future.set_exception(error)
                continue
            for (_, future), outcome in zip(gathered, outcomes, strict=True):
                if not future.done():
                    future.set_result(outcome)
