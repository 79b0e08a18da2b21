"""Wake-ups between processes: heard through broadcaster under supervision, rung through Redis without waiting.

broadcaster's Redis listener dies silently when its connection does, so it is watched and rebuilt. A wake-up carries
nothing: losing one costs the delay of a poll. What other channels carry must be as cheap to lose.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import structlog
from broadcaster._backends.redis import RedisBackend

from app.config import Settings
from app.db.transaction import Bell
from app.errors import Unavailable
from app.observability import metrics
from app.redis import Redis

log = structlog.get_logger(__name__)
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.1, 5.0
_CONNECT_TIMEOUT_S = 5.0
_QUIET_S = 10.0  # a connection that is silent for so long has to prove that it lives


class Listener:
    """Calls `wake` for every ring of a bell, and after every reconnect, because some may have been missed. On a channel
    that carries texts `hear` gets each of them."""

    def __init__(
        self,
        settings: Settings,
        channel: str,
        wake: Callable[[], None] = lambda: None,
        hear: Callable[[str], None] = lambda text: None,
    ) -> None:
        assert settings.redis_url is not None
        self._url = settings.redis_url
        self._channel = str(channel)
        self._wake, self._hear = wake, hear
        self._quiet = True  # nothing was heard since we looked last
        self.connected = False

    async def run(self) -> None:
        pause_s = _FIRST_PAUSE_S
        said = False
        while True:
            try:
                await self._listen()
            except Exception as error:
                if self.connected or not said:
                    log.warning("wake-ups lost, polling until they return", error=repr(error))
                    said = True
            if self.connected:
                pause_s = _FIRST_PAUSE_S
            self.connected = False
            metrics.EVENT_RECONNECTS.inc()
            await asyncio.sleep(pause_s)
            pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)

    async def _listen(self) -> None:
        """Returns or raises when the connection is gone."""
        backend = _Backend(self._url, self._heard)
        try:
            async with asyncio.timeout(_CONNECT_TIMEOUT_S):
                await backend.connect()
                await backend.subscribe(self._channel)
            self.connected = True
            self._wake()
            await self._follow(backend)
        finally:
            await backend.dispose()

    def _heard(self, text: str) -> None:
        self._quiet = False
        self._wake()
        if text:
            self._hear(text)

    async def _follow(self, backend: _Backend) -> None:
        listener, probed = backend._listener, False
        assert listener is not None
        while True:
            await asyncio.wait({listener}, timeout=_QUIET_S)
            if listener.done():
                return listener.result()
            quiet, self._quiet = self._quiet, True
            if quiet:
                await self._probe(backend, already=probed)
            probed = quiet

    async def _probe(self, backend: RedisBackend, *, already: bool) -> None:
        """Ring for ourselves. A connection that a firewall forgot swallows everything and never says so."""
        if already:
            raise ConnectionError("the wake-up connection does not hear its own probe")
        async with asyncio.timeout(_CONNECT_TIMEOUT_S):
            await backend.publish(self._channel, "")


class _Backend(RedisBackend):
    """broadcaster's own, but what it hears is told at once instead of by way of two queues and a task: a worker that
    starts a task waits for it."""

    def __init__(self, url: str, heard: Callable[[str], None]) -> None:
        super().__init__(url)
        self._heard = heard

    async def _pubsub_listener(self) -> None:
        await self._ready.wait()  # redis-py cannot listen before a channel is subscribed
        async for message in self._pubsub.listen():
            if message["type"] == "message":
                self._heard(message["data"].decode())

    async def dispose(self) -> None:
        # Each step may fail on a dead connection; none may keep the next one from running.
        if self._listener is not None:
            self._listener.cancel()
        for closing in (self._pubsub.aclose, self._conn.aclose):
            try:
                async with asyncio.timeout(1):
                    await closing()
            except Exception as error:
                log.debug("closing a dead connection", error=repr(error))


class Ringer:
    """Rings the bells of committed transactions. Wake-ups are merged and sent in the background."""

    def __init__(self, redis: Redis, wake_here: Callable[[], None] | None = None) -> None:
        self._redis = redis
        self._wake_here = wake_here
        self._sending: asyncio.Task[None] | None = None
        self._due: set[Bell] = set()

    async def __call__(self, bells: list[Bell]) -> None:
        if self._wake_here is not None and Bell.EVENTS in bells:
            self._wake_here()
        self._due.update(bells)
        if self._sending is None or self._sending.done():
            self._sending = asyncio.create_task(self._send())

    async def _send(self) -> None:
        while self._due:
            # Work first: a task that starts later is felt, an event that is shown later is not.
            bell = Bell.WORK if Bell.WORK in self._due else Bell.EVENTS
            self._due.remove(bell)
            try:
                await self._publish(bell)
            except Unavailable:
                metrics.EVENT_BELLS_LOST.inc()

    async def _publish(self, bell: Bell) -> None:
        await self._redis.run(lambda client: client.publish(bell.value, ""))

    async def close(self) -> None:
        if self._sending is not None:
            await asyncio.wait({self._sending}, timeout=1)
