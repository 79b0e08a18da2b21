"""Limits the points that a key may spend in a window, exactly and across all processes.

Each process leases points from a counter in Redis and spends them from its own memory, so that most requests need no
round trip. What a process has leased and not spent lapses with the window: the limit is never exceeded, and a key that
is used through many processes may reach it a few per cent early.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from uuid import UUID

from app.config import Settings, environment_name
from app.errors import RateLimited, Unavailable
from app.redis import Redis

LEASES = 50  # a lease is this part of the limit, and less when little is left
KEPT_BUCKETS = 10_000


@dataclass(frozen=True, slots=True)
class RateState:
    """`remaining` is what this process knows: exact when it last leased."""

    limit: int
    remaining: int
    reset_s: int


@dataclass(slots=True)
class _Bucket:
    window: int
    leased: int = 0
    taken: int = 0  # by all processes, when last heard
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    def left(self, limit: int) -> int:
        return self.leased + max(0, limit - self.taken)


class RateLimiter:
    def __init__(self, redis: Redis, settings: Settings, clock: Callable[[], float] = time.time) -> None:
        self._redis = redis
        self._clock = clock
        self._limit = settings.rate_limit_points
        self._window_s = settings.rate_limit_window_s
        self._buckets: dict[UUID, _Bucket] = {}
        self.policy = f'"default";q={self._limit};w={self._window_s}'.encode()

    def try_spend(self, key_id: UUID, cost: int) -> RateState | None:
        """Spend from what is leased; None when that does not suffice."""
        bucket = self._bucket(key_id)
        if bucket.leased < cost:
            return None
        bucket.leased -= cost
        return self._state(bucket)

    async def spend(self, key_id: UUID, cost: int) -> RateState:
        """Raises RateLimited with `retry_after_s` when the window has not enough points left."""
        if state := self.try_spend(key_id, cost):
            return state
        async with self._bucket(key_id).lock:
            bucket = await self._with_lease(key_id, cost)
            if bucket.leased < cost:
                raise self._refusal(bucket, cost)
            bucket.leased -= cost
            return self._state(bucket)

    async def _with_lease(self, key_id: UUID, cost: int) -> _Bucket:
        while True:
            bucket = self._bucket(key_id)
            window = bucket.window
            if bucket.leased < cost:
                await self._lease(key_id, bucket, cost - bucket.leased)
            if bucket.window == window:  # else the window turned while Redis was asked, and the lease is void
                return bucket

    def state(self, key_id: UUID) -> RateState:
        """The state as this process knows it."""
        return self._state(self._bucket(key_id))

    async def peek(self, key_id: UUID) -> RateState:
        """The state now, nothing spent."""
        bucket = self._bucket(key_id)
        name = self._name(key_id, bucket.window)
        try:
            bucket.taken = max(bucket.taken, int(await self._redis.run(lambda client: client.get(name)) or 0))
        except Unavailable:
            pass
        return self._state(bucket)

    async def _lease(self, key_id: UUID, bucket: _Bucket, missing: int) -> None:
        if bucket.taken >= self._limit:
            return  # known to be used up: no round trip to hear it again
        spare = max(0, self._limit - bucket.taken)
        wanted = max(missing, min(self._limit // LEASES, spare // 4))
        window = bucket.window
        try:
            taken = await self._take(self._name(key_id, window), wanted)
        except Unavailable:
            taken = bucket.taken + wanted  # while Redis is away, each process keeps the limit by itself
        if bucket.window != window:
            return
        bucket.leased += max(0, wanted - max(0, taken - self._limit))
        bucket.taken = max(taken, bucket.taken + wanted)  # a Redis that restarted empty has forgotten what we know

    async def _take(self, name: str, wanted: int) -> int:
        async with self._redis.client.pipeline(transaction=False) as pipeline:
            pipeline.incrby(name, wanted)
            pipeline.expire(name, 2 * self._window_s)
            answers = await self._redis.run(lambda _: pipeline.execute())
        return int(answers[0])

    def _bucket(self, key_id: UUID) -> _Bucket:
        window = int(self._clock() // self._window_s)
        bucket = self._buckets.get(key_id)
        if bucket is None:
            bucket = self._buckets[key_id] = _Bucket(window)
            self._forget_old(window)
        elif bucket.window != window:
            bucket.window, bucket.leased, bucket.taken = window, 0, 0
        return bucket

    def _forget_old(self, window: int) -> None:
        if len(self._buckets) > KEPT_BUCKETS:
            self._buckets = {key: b for key, b in self._buckets.items() if b.window == window or b.lock.locked()}

    def _name(self, key_id: UUID, window: int) -> str:
        return f"rate:{key_id.hex}:{window}"

    def _state(self, bucket: _Bucket) -> RateState:
        return RateState(self._limit, bucket.left(self._limit), self._reset_s(bucket))

    def _reset_s(self, bucket: _Bucket) -> int:
        return max(1, int((bucket.window + 1) * self._window_s - self._clock()) + 1)

    def _refusal(self, bucket: _Bucket, cost: int) -> RateLimited:
        reset_s = self._reset_s(bucket)
        return RateLimited(
            f"This operation costs {cost} points and this key has {bucket.left(self._limit)} of {self._limit} left "
            f"until the window of {self._window_s} seconds ends. Try again in {reset_s} seconds.",
            limit=self._limit,
            remaining=bucket.left(self._limit),
            cost=cost,
            setting=environment_name("rate_limit_points"),
            retry_after_s=reset_s,
        )


def header(state: RateState) -> bytes:
    """The value of the RateLimit header."""
    return b'"default";r=%d;t=%d' % (state.remaining, state.reset_s)
