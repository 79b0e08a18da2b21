"""A sink for transports that pull: a short queue, behind which the subscriber reads the log at the client's pace."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator

from app.errors import Unavailable
from graphql_schema.streams.subscriber import SinkGone

MOST_BYTES = 500_000


class QueueSink:
    """Takes `most` payloads, or half a megabyte of them."""

    def __init__(self, most: int, stalled_s: float) -> None:
        self._queue: deque[bytes] = deque()
        self._bytes = 0
        self._most, self._stalled_s = most, stalled_s
        self._filled, self._drained = asyncio.Event(), asyncio.Event()
        self._failure: Exception | None = None

    @property
    def ready(self) -> bool:
        return len(self._queue) < self._most and self._bytes < MOST_BYTES

    def push(self, payloads: list[bytes]) -> None:
        self._queue.extend(payloads)
        self._bytes += sum(map(len, payloads))
        self._filled.set()

    async def until_ready(self) -> None:
        while not self.ready:
            self._drained.clear()
            try:
                async with asyncio.timeout(self._stalled_s):
                    await self._drained.wait()
            except TimeoutError:
                self.fail(Unavailable("The client took nothing for too long."))
                raise SinkGone from None

    def fail(self, error: Exception) -> None:
        self._failure = error
        self._filled.set()

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while True:
            while self._queue:
                payload = self._queue.popleft()
                self._bytes -= len(payload)
                self._drained.set()
                yield payload
            if self._failure is not None:
                raise self._failure
            self._filled.clear()
            await self._filled.wait()
