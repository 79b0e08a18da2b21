"""Wake-ups between processes over broadcaster: they make polling instant, and losing one only costs the next poll.

broadcaster's Redis listener dies without an error when its connection does, so `Listener` supervises it from outside: a
probe that it publishes to itself must come back, or the connection is rebuilt.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable, Callable
from typing import Any, cast
from uuid import uuid4

import structlog
from broadcaster import Broadcast, Event
from redis.asyncio import Redis as Client

from app.config import Settings
from app.observability import metrics
from app.redis import AWAY, TIMEOUT_S, Redis, raise_if_cancelled

log = structlog.get_logger(__name__)
MIN_PAUSE_S, MAX_PAUSE_S = 0.1, 5.0
PROBE_EVERY_S = 1.0
PROBE_TIMEOUT_S = 1.0
CLOSE_TIMEOUT_S = 1.0
UNSUBSCRIBE_S = 0.05


class Listener:
    """Calls `wake` for every message on a channel and after every reconnect, because some may have been missed. On a
    channel that carries texts, `receive` gets each text."""

    def __init__(
        self,
        settings: Settings,
        channel: str,
        wake: Callable[[], None] = lambda: None,
        receive: Callable[[str], None] = lambda text: None,
    ) -> None:
        self._settings = settings
        self._channel, self._probe_channel = str(channel), f"{channel}:probe:{uuid4().hex}"
        self._wake, self._receive = wake, receive
        self._echo = asyncio.Event()
        self.connected = False

    async def run(self) -> None:
        """Listens until cancelled; reconnects with back-off."""
        redis = Redis(self._settings)
        try:
            await self._supervise(redis)
        finally:
            await redis.close()

    async def _supervise(self, redis: Redis) -> None:
        pause_s, logged = MIN_PAUSE_S, False
        while True:
            try:
                await self._listen(redis)
            except Exception as error:
                raise_if_cancelled(error)
                if self.connected or not logged:
                    log.warning("wake-ups lost; polling until they return", channel=self._channel, error=repr(error))
                    logged = True
            pause_s = MIN_PAUSE_S if self.connected else min(2 * pause_s, MAX_PAUSE_S)
            self.connected = False
            metrics.WAKE_UP_RECONNECTS.inc()
            await asyncio.sleep(pause_s)

    async def _listen(self, redis: Redis) -> None:
        """Raises when the connection is gone."""
        await redis.ping()  # broadcaster leaks a task for every connect that fails
        broadcast = Broadcast(self._settings.redis_url)
        connecting = asyncio.create_task(broadcast.connect())
        try:
            await asyncio.shield(connecting)
            await self._follow(broadcast)
        finally:
            closing = asyncio.create_task(_close_when_connected(broadcast, connecting))
            try:
                await asyncio.shield(closing)
            except asyncio.CancelledError:
                await closing
                raise

    async def _follow(self, broadcast: Broadcast) -> None:
        async with (
            broadcast.subscribe(self._channel) as messages,
            broadcast.subscribe(self._probe_channel) as echoes,
        ):
            reading = [
                asyncio.create_task(self._read(_events(messages))),
                asyncio.create_task(self._read_echoes(_events(echoes))),
            ]
            self.connected = True
            self._wake()
            try:
                await self._probe(broadcast)
            finally:
                for task in reading:
                    task.cancel()
                await asyncio.gather(*reading, return_exceptions=True)

    async def _read(self, messages: AsyncIterable[Event]) -> None:
        async for event in messages:
            self._wake()
            if event.message:
                self._receive(event.message)

    async def _read_echoes(self, echoes: AsyncIterable[Event]) -> None:
        async for _ in echoes:
            self._echo.set()

    async def _probe(self, broadcast: Broadcast) -> None:
        """Returns never; raises TimeoutError when a probe does not come back."""
        while True:
            self._echo.clear()
            async with asyncio.timeout(PROBE_TIMEOUT_S):
                await broadcast.publish(self._probe_channel, "")
                await self._echo.wait()
            await asyncio.sleep(PROBE_EVERY_S)


class Publisher:
    """Publishes messages to all processes that listen; raises Unavailable while Redis is away."""

    def __init__(self, settings: Settings, redis: Redis) -> None:
        self._settings = settings
        self._redis = redis
        self._broadcast: Broadcast | None = None

    async def publish(self, channel: str, text: str = "") -> None:
        await self._redis.run(lambda client: self._send(client, channel, text))

    async def _send(self, client: Client, channel: str, text: str) -> None:
        try:
            await self._publish(client, channel, text)
        except AWAY:  # the connection died while it was idle, for instance
            await self.close()
            await self._publish(client, channel, text)

    async def _publish(self, client: Client, channel: str, text: str) -> None:
        async with asyncio.timeout(TIMEOUT_S):
            if self._broadcast is None:
                await client.ping()  # broadcaster leaks a task for every connect that fails
                broadcast = Broadcast(self._settings.redis_url)
                await broadcast.connect()
                self._broadcast = broadcast
            await self._broadcast.publish(channel, text)

    async def close(self) -> None:
        broadcast, self._broadcast = self._broadcast, None
        if broadcast is not None:
            await _close(broadcast)


def _events(subscriber: Any) -> AsyncIterable[Event]:
    """broadcaster annotates its `__aiter__` wrongly."""
    return cast(AsyncIterable[Event], subscriber)


async def _close_when_connected(broadcast: Broadcast, connecting: asyncio.Task[None]) -> None:
    """Half open, broadcaster could not close it."""
    await asyncio.wait({connecting}, timeout=CLOSE_TIMEOUT_S)
    await _close(broadcast)


async def _close(broadcast: Broadcast) -> None:
    # broadcaster closes its connection while it still reads from it, and redis-py then opens a new one that nobody
    # closes. After an unsubscribe it stops reading, so let it see the reply.
    await asyncio.sleep(UNSUBSCRIBE_S)
    try:
        async with asyncio.timeout(CLOSE_TIMEOUT_S):
            await broadcast.disconnect()
    except Exception as error:
        log.debug("closing a dead broadcast connection", error=repr(error))
