"""Connections for single statements, shared fairly.

asyncpg's own pool makes a timer to take a connection and a task to give it back, which costs as much as a short
statement does. Here both are a pop and an append while a connection is free.

A reader may take another connection only while more are free than it holds: alone, a key gets half of the pool and a
team two thirds, and whoever comes next always finds one. Those who wait are served team by team.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Hashable
from typing import Any

from app.db.reader import Reader, current_reader
from app.fair_queue import FairQueue

Connection = Any  # asyncpg's
TEAM_SHARE = 2  # a team may hold this many times as many connections as are free; a key, as many


class _Turn:
    """Somebody who waits. When the future is done, a connection is reserved for them."""

    __slots__ = ("future", "reader")

    def __init__(self, future: asyncio.Future[None], reader: Reader | None) -> None:
        self.future, self.reader = future, reader


class ReadPool:
    """Raises TimeoutError when no connection becomes free in `patience_s`. One idle for `idle_s` is not used again."""

    def __init__(
        self, connect: Callable[[], Awaitable[Connection]], size: int, *, patience_s: float, idle_s: float
    ) -> None:
        self._connect, self._size = connect, size
        self._patience_s, self._idle_s = patience_s, idle_s
        self._all: set[Connection] = set()
        self._free: list[tuple[Connection, float]] = []
        self._reserved = 0
        self._of_key: dict[Hashable, int] = {}
        self._of_team: dict[Hashable, int] = {}
        self._holders: dict[Connection, Reader | None] = {}
        self._waiting: FairQueue[_Turn] = FairQueue()
        self._patience: deque[tuple[_Turn, float]] = deque()
        self._timer: asyncio.TimerHandle | None = None

    async def take(self) -> Connection:
        """The caller gives it back, whatever happens."""
        reader = current_reader()
        if self._may_take(reader):
            self._reserve(reader)
        else:
            await self._wait(reader)
        try:
            connection = self._take_free() or await self._open()
        except BaseException:
            self._release(reader)
            raise
        self._holders[connection] = reader
        return connection

    def give_back(self, connection: Connection) -> None:
        if connection.is_closed():
            self._all.discard(connection)
        else:
            self._free.append((connection, asyncio.get_running_loop().time()))
        self._release(self._holders.pop(connection))

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

    # Shares

    def _may_take(self, reader: Reader | None) -> bool:
        free = self._size - self._reserved
        if reader is None or free <= 0:
            return free > 0
        return (
            self._of_key.get(reader[:2], 0) * reader.weight < free
            and self._of_team.get(reader.team_id, 0) < TEAM_SHARE * free
        )

    def _reserve(self, reader: Reader | None) -> None:
        self._reserved += 1
        if reader is not None:
            self._of_key[reader[:2]] = self._of_key.get(reader[:2], 0) + 1
            self._of_team[reader.team_id] = self._of_team.get(reader.team_id, 0) + 1

    def _release(self, reader: Reader | None) -> None:
        self._reserved -= 1
        if reader is not None:
            _decrease(self._of_key, reader[:2])
            _decrease(self._of_team, reader.team_id)
        if self._waiting:
            self._serve_waiting()

    def _serve_waiting(self) -> None:
        while turn := self._waiting.pop(lambda turn: turn.future.done() or self._may_take(turn.reader)):
            if not turn.future.done():
                self._reserve(turn.reader)
                turn.future.set_result(None)

    # Connections

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
        connection = await self._connect()
        self._all.add(connection)
        return connection

    # Waiting

    async def _wait(self, reader: Reader | None) -> None:
        loop = asyncio.get_running_loop()
        turn = _Turn(loop.create_future(), reader)
        # The server's own reads are a team of their own.
        self._waiting.push(reader and reader.team_id, reader and reader.key, turn)
        self._patience.append((turn, loop.time() + self._patience_s))
        if self._timer is None:
            self._timer = loop.call_later(self._patience_s, self._give_up)
        try:
            await turn.future
        except asyncio.CancelledError:
            # Cancelled in the very moment that its turn came: the next one is served instead.
            if turn.future.done() and not turn.future.cancelled() and turn.future.exception() is None:
                self._release(reader)
            raise

    def _give_up(self) -> None:
        """One timer for all who wait: they wait equally long, so the first in the row is the first to give up."""
        self._timer = None
        loop = asyncio.get_running_loop()
        now = loop.time()
        while self._patience and (self._patience[0][1] <= now or self._patience[0][0].future.done()):
            turn, _ = self._patience.popleft()
            if not turn.future.done():
                turn.future.set_exception(TimeoutError())
        if self._patience:
            self._timer = loop.call_at(self._patience[0][1], self._give_up)


def _decrease(counts: dict[Hashable, int], name: Hashable) -> None:
    if counts[name] == 1:
        del counts[name]
    else:
        counts[name] -= 1
