"""Connections for single statements.

asyncpg's own pool makes a timer to take a connection and a task to give it back, which costs as much as a short
statement does. Here both are a pop and an append while a connection is free; whoever waits is served in order.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Any

Connection = Any  # asyncpg's
_Turn = asyncio.Future[Connection | None]  # None: there is room to open one


class ReadPool:
    """Raises TimeoutError when no connection becomes free in `patience_s`. One idle for `idle_s` is not used again."""

    def __init__(
        self, connect: Callable[[], Awaitable[Connection]], size: int, *, patience_s: float, idle_s: float
    ) -> None:
        self._connect, self._size = connect, size
        self._patience_s, self._idle_s = patience_s, idle_s
        self._all: set[Connection] = set()
        self._opening = 0
        self._free: list[tuple[Connection, float]] = []
        self._waiting: deque[tuple[_Turn, float]] = deque()
        self._timer: asyncio.TimerHandle | None = None

    async def take(self) -> Connection:
        """The caller gives it back, whatever happens."""
        while True:
            if connection := self._take_free():
                return connection
            if len(self._all) + self._opening < self._size:
                return await self._open()
            if connection := await self._wait():
                return connection

    def give_back(self, connection: Connection) -> None:
        if connection.is_closed():
            self._all.discard(connection)
            self._pass_on(None)
        elif not self._pass_on(connection):
            self._free.append((connection, asyncio.get_running_loop().time()))

    def drop_free(self) -> None:
        """After the database was away: what was connected then is not trusted."""
        while self._free:
            self._drop(self._free.pop()[0])

    async def close(self) -> None:
        closing = [connection.close(timeout=1) for connection, _ in self._free]
        self._free.clear()
        await asyncio.gather(*closing, return_exceptions=True)
        for connection in list(self._all):
            self._drop(connection)
        if self._timer is not None:
            self._timer.cancel()

    def _take_free(self) -> Connection | None:
        while self._free:
            connection, since = self._free.pop()
            if not connection.is_closed() and asyncio.get_running_loop().time() - since < self._idle_s:
                return connection
            self._drop(connection)
        return None

    def _drop(self, connection: Connection) -> None:
        self._all.discard(connection)
        connection.terminate()

    async def _open(self) -> Connection:
        self._opening += 1
        try:
            connection = await self._connect()
        except BaseException:
            self._opening -= 1
            self._pass_on(None)
            raise
        self._opening -= 1
        self._all.add(connection)
        return connection

    def _pass_on(self, connection: Connection | None) -> bool:
        while self._waiting:
            turn, _ = self._waiting.popleft()
            if not turn.done():
                turn.set_result(connection)
                return True
        return False

    async def _wait(self) -> Connection | None:
        loop = asyncio.get_running_loop()
        turn: _Turn = loop.create_future()
        self._waiting.append((turn, loop.time() + self._patience_s))
        if self._timer is None:
            self._timer = loop.call_later(self._patience_s, self._give_up)
        try:
            return await turn
        except asyncio.CancelledError:
            # Cancelled in the very moment that its turn came: the next one is served instead.
            if turn.done() and not turn.cancelled() and turn.exception() is None:
                connection = turn.result()
                self._pass_on(None) if connection is None else self.give_back(connection)
            raise

    def _give_up(self) -> None:
        """One timer for all who wait: they wait equally long, so the first in the row is the first to give up."""
        self._timer = None
        loop = asyncio.get_running_loop()
        now = loop.time()
        while self._waiting and (self._waiting[0][1] <= now or self._waiting[0][0].done()):
            turn, _ = self._waiting.popleft()
            if not turn.done():
                turn.set_exception(TimeoutError())
        if self._waiting:
            self._timer = loop.call_at(self._waiting[0][1], self._give_up)
