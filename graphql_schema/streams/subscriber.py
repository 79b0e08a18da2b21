"""One subscription of one client: replays the log from its cursor, then is live, without gap or repeat.

Its buffer is the log itself. While its sink takes no more, it is not live; when the sink is ready again it reads what
it missed at its own pace, and joins the others. So a slow client costs no memory and slows nobody down.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

import structlog

from app.db.reader import reading_for
from app.errors import Unavailable
from app.events.reading import Place, read_topic
from app.observability import metrics

if TYPE_CHECKING:
    from graphql_schema.streams.stream import SharedStream

log = structlog.get_logger(__name__)
REPLAY_BATCH = 100
_AWAY_PAUSE_S = 0.5


class Sink(Protocol):
    """Where payloads go. `push` never waits; it may only be called while `ready`."""

    @property
    def ready(self) -> bool: ...

    def push(self, payloads: list[bytes]) -> None: ...

    async def until_ready(self) -> None:
        """Raises SinkGone when the client left or takes nothing for too long."""

    def fail(self, error: Exception) -> None:
        """The subscription cannot go on."""


class SinkGone(Exception):
    pass


class Subscriber:
    __slots__ = ("_stream", "_task", "closed", "on_close", "place", "push", "sink")

    def __init__(self, stream: SharedStream, sink: Sink, place: Place) -> None:
        self._stream, self.sink, self.place = stream, sink, place
        self.push = sink.push
        self.closed = False
        self.on_close: Callable[[], None] | None = None
        self._task: asyncio.Task[None] | None = None

    def catch_up(self, *, gap: bool = False) -> None:
        """Read the log in a task of its own until live."""
        metrics.SUBSCRIBERS.labels("replaying").inc()
        self._task = asyncio.create_task(self._replay(gap))

    def close(self) -> None:
        if not self.closed:
            self.closed = True
            if self.on_close is not None:
                self.on_close()
            self._stream.leave(self)
            if self._task is not None:
                self._task.cancel()

    async def _replay(self, gap: bool) -> None:
        try:
            if gap:
                await self._send(self._stream.rendering.gap(self.place), self.place)
            while not await self._step():
                pass
        except SinkGone:
            self.close()
        except Exception as error:  # whoever holds the sink logs what is our fault
            self.sink.fail(error)
            self.close()
        finally:
            self._task = None
            metrics.SUBSCRIBERS.labels("replaying").dec()

    async def _step(self) -> bool:
        """Send one batch of the log; True when the subscriber has become live."""
        await self.sink.until_ready()
        try:
            with reading_for(self._stream.rendering.reader):
                batch = await read_topic(self._stream.database, self._stream.topic, self.place, REPLAY_BATCH)
            payloads = await self._stream.rendering.events(batch.rows)
        except Unavailable:
            await asyncio.sleep(_AWAY_PAUSE_S)
            return False
        for place, payload in payloads:
            await self._send(payload, place)
        self.place = batch.through
        if batch.full or self.place < self._stream.place:
            return False
        await self.sink.until_ready()
        if self.place < self._stream.place:
            return False
        self.push([self._stream.rendering.caught_up(self.place)])
        self._stream.go_live(self)
        return True

    async def _send(self, payload: bytes, place: Place) -> None:
        if not self.sink.ready:
            await self.sink.until_ready()
        self.push([payload])
        self.place = place
