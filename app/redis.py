"""The connection to Redis. When Redis is away, callers are told at once instead of each waiting for a time-out."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

import structlog
from redis.asyncio import Redis as Client
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import ConnectionError as Disconnected
from redis.exceptions import RedisError

from app.config import Settings
from app.errors import ConfigurationError, Unavailable

log = structlog.get_logger(__name__)
T = TypeVar("T")
TIMEOUT_S = 1.0
PAUSE_S = 1.0  # after a failure, calls fail at once for this long
AWAY = (RedisError, OSError, TimeoutError)


def raise_if_cancelled(error: Exception) -> None:
    """Raises CancelledError if the current task was cancelled. redis-py closes the connection of a cancelled command
    and may then raise an error of its own instead, which would let a cancelled task go on for ever."""
    task = asyncio.current_task()
    if task is not None and task.cancelling():
        raise asyncio.CancelledError from error


class Redis:
    """Opened once per process; connects on first use, so that a start does not need Redis."""

    def __init__(self, settings: Settings) -> None:
        if settings.redis_url is None:
            raise ConfigurationError("REDIS_URL is not set. Set it, or use `parley dev`, which embeds a Redis.")
        self.client: Client = Client.from_url(
            settings.redis_url,
            socket_timeout=TIMEOUT_S,
            socket_connect_timeout=TIMEOUT_S,
            # A connection that died while idle is replaced and the command sent once more.
            retry=Retry(NoBackoff(), 1),
            retry_on_error=[Disconnected],
        )
        self._away_since: float | None = None
        self._retry_at = 0.0

    async def run(self, command: Callable[[Client], Awaitable[T]]) -> T:
        """Run a command that may be sent twice; raises Unavailable while Redis is away."""
        now = time.monotonic()
        if now < self._retry_at:
            raise Unavailable("Redis does not answer.")
        if self._away_since is not None:
            self._retry_at = now + PAUSE_S  # one caller finds out; the others need not wait with it
        try:
            answer = await command(self.client)
        except Exception as error:
            raise_if_cancelled(error)
            if not isinstance(error, AWAY):
                raise
            self._lost(error)
            raise Unavailable("Redis does not answer.") from error
        if self._away_since is not None:
            self._found()
        return answer

    async def ping(self) -> float:
        """Seconds that Redis takes to answer; raises Unavailable. Asks even while other calls fail at once."""
        started = time.perf_counter()
        self._retry_at = 0.0
        await self.run(lambda client: client.ping())
        return time.perf_counter() - started

    async def close(self) -> None:
        await self.client.aclose()

    def _lost(self, error: BaseException) -> None:
        self._retry_at = time.monotonic() + PAUSE_S
        if self._away_since is None:
            self._away_since = time.monotonic()
            log.warning("Redis is away; limits are kept per process until it returns", error=repr(error))

    def _found(self) -> None:
        assert self._away_since is not None
        log.info("Redis is back", away_s=round(time.monotonic() - self._away_since, 1))
        self._away_since, self._retry_at = None, 0.0
