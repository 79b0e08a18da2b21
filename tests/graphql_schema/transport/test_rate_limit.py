"""A window never grants more than its limit, however many processes spend at once and whatever Redis does."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator
from typing import Any
from uuid import UUID, uuid4

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from app.config import Settings, load_settings
from app.dev.redis import EmbeddedValkey
from app.errors import RateLimited
from app.redis import Redis
from graphql_schema.transport.rate_limit import RateLimiter, RateState
from tests.fixtures.http import Serve

DEFAULTS = Settings()


class Clock:
    """Stands still until it is told otherwise; starts with a window."""

    def __init__(self) -> None:
        self.time = 1_800_000_000.0

    def __call__(self) -> float:
        return self.time


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def redis(redis_url: str) -> AsyncIterator[Redis]:
    connection = Redis(load_settings(REDIS_URL=redis_url))
    yield connection
    await connection.close()


def limiter(redis: Redis, clock: Clock, points: int, window_s: int = 60) -> RateLimiter:
    limits = {"rate_limit_points": points, "rate_limit_window_s": window_s}
    return RateLimiter(redis, DEFAULTS.model_copy(update=limits), clock)


async def spent(limiter: RateLimiter, key: UUID, cost: int) -> int:
    try:
        await limiter.spend(key, cost)
    except RateLimited:
        return 0
    return cost


async def test_points_are_spent_and_then_refused(redis: Redis, clock: Clock) -> None:
    one, key = limiter(redis, clock, points=10), uuid4()

    assert await one.spend(key, 4) == RateState(limit=10, remaining=6, reset_s=61)
    assert await one.spend(key, 6) == RateState(limit=10, remaining=0, reset_s=61)
    clock.time += 45
    with pytest.raises(RateLimited) as refused:
        await one.spend(key, 1)
    assert refused.value.details == {
        "limit": 10,
        "remaining": 0,
        "cost": 1,
        "setting": "PARLEY_RATE_LIMIT_POINTS",
        "retry_after_s": 16,
    }
    assert await one.spend(uuid4(), 10) == RateState(limit=10, remaining=0, reset_s=16)


async def test_a_new_window_starts_anew(redis: Redis, clock: Clock) -> None:
    one, key = limiter(redis, clock, points=10), uuid4()
    await one.spend(key, 10)

    clock.time += 60

    assert (await one.spend(key, 3)).remaining == 7


async def test_a_refused_operation_spends_nothing(redis: Redis, clock: Clock) -> None:
    one, key = limiter(redis, clock, points=10), uuid4()
    await one.spend(key, 8)

    assert await spent(one, key, 5) == 0
    assert await spent(one, key, 2) == 2


async def test_what_is_leased_is_spent_without_waiting(redis: Redis, clock: Clock) -> None:
    one, key = limiter(redis, clock, points=1_000), uuid4()
    assert one.try_spend(key, 1) is None
    await one.spend(key, 1)

    taken = sum(one.try_spend(key, 1) is not None for _ in range(100))

    assert taken == 1_000 // 50 - 1


async def test_processes_share_one_limit(redis: Redis, clock: Clock) -> None:
    """Eight limiters, as eight processes would have them, race for one key with costs of all sizes."""
    limiters, key = [limiter(redis, clock, points=5_000) for _ in range(8)], uuid4()
    dice = random.Random(7)

    async def race(one: RateLimiter) -> int:
        total = 0
        for _ in range(400):
            total += await spent(one, key, dice.choice([1, 1, 1, 2, 5, 20, 90]))
            if dice.random() < 0.2:
                await asyncio.sleep(0)
        return total

    granted = sum(await asyncio.gather(*(race(one) for one in limiters for _ in range(3))))

    assert 5_000 * 0.98 <= granted <= 5_000


async def test_a_lost_lease_is_only_lost_for_its_window(redis: Redis, clock: Clock) -> None:
    """A process that dies takes its lease with it: the others get less, never more."""
    dead, alive, key = limiter(redis, clock, points=1_000), limiter(redis, clock, points=1_000), uuid4()
    await dead.spend(key, 1)

    granted = sum([await spent(alive, key, 1) for _ in range(1_100)])

    assert granted == 1_000 - 20


async def test_peek_tells_what_others_spent(redis: Redis, clock: Clock) -> None:
    one, two, key = limiter(redis, clock, points=100), limiter(redis, clock, points=100), uuid4()
    await one.spend(key, 60)

    assert (await two.peek(key)).remaining == 40
    assert (await one.peek(key)).remaining == 40
    assert (await two.spend(key, 40)).remaining == 0


async def test_without_redis_each_process_keeps_the_limit(own_valkey: EmbeddedValkey, clock: Clock) -> None:
    redis = Redis(load_settings(REDIS_URL=own_valkey.url()))
    one, key = limiter(redis, clock, points=100), uuid4()
    await one.spend(key, 30)
    own_valkey.stop()

    granted = 30 + sum([await spent(one, key, 1) for _ in range(200)])
    own_valkey.start()
    clock.time += 60
    redis._retry_at = 0.0
    again = sum([await spent(one, key, 1) for _ in range(200)])
    await redis.close()

    assert (granted, again) == (100, 100)


async def test_a_redis_that_forgot_everything_is_not_believed(redis: Redis, clock: Clock) -> None:
    one, key = limiter(redis, clock, points=100), uuid4()
    await one.spend(key, 90)
    await redis.client.flushall()

    granted = sum([await spent(one, key, 1) for _ in range(50)])

    assert granted == 10


async def test_counters_expire(redis: Redis, clock: Clock) -> None:
    await limiter(redis, clock, points=10, window_s=60).spend(uuid4(), 1)

    (name,) = await redis.client.keys("rate:*")

    assert 0 < await redis.client.ttl(name) <= 120


async def test_the_window_may_turn_while_redis_is_asked(
    redis: Redis, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, key = limiter(redis, clock, points=10), uuid4()
    take = one._take

    async def slow_take(name: str, wanted: int) -> int:
        monkeypatch.setattr(one, "_take", take)
        taken = await take(name, wanted)
        clock.time += 60
        one.try_spend(key, 1)
        return taken

    monkeypatch.setattr(one, "_take", slow_take)

    assert (await one.spend(key, 10)).remaining == 0


class Counter:
    """Redis as the limiter sees it: one number for each name. For trying thousands of histories."""

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}

    async def take(self, name: str, wanted: int) -> int:
        self.numbers[name] = self.numbers.get(name, 0) + wanted
        return self.numbers[name]


@hypothesis_settings(max_examples=100, deadline=None)
@given(
    points=st.integers(1, 500),
    steps=st.lists(st.tuples(st.integers(0, 3), st.integers(1, 60), st.integers(0, 20)), max_size=60),
)
def test_no_history_grants_more_than_the_limit(points: int, steps: list[tuple[int, int, int]]) -> None:
    """Each step: which process spends, how much, and how many seconds pass before."""

    async def play() -> None:
        clock, counter, key = Clock(), Counter(), UUID(int=1)
        redis = Redis(DEFAULTS.model_copy(update={"redis_url": "redis://unused"}))
        limiters = [limiter(redis, clock, points) for _ in range(4)]
        granted: dict[int, int] = {}
        for one in limiters:
            one._take = counter.take  # type: ignore[method-assign]
        for process, cost, pause in steps:
            clock.time += pause
            window = int(clock.time // 60)
            granted[window] = granted.get(window, 0) + await spent(limiters[process], key, cost)
        assert all(total <= points for total in granted.values())

    asyncio.run(play())


async def test_over_http_a_spent_key_is_429_with_the_time_to_wait(serve: Serve) -> None:
    async with serve(rate_limit_points=3, rate_limit_window_s=3600) as endpoint:
        responses: list[Any] = [await endpoint.post("{ hello }") for _ in range(4)]

    assert [response.status_code for response in responses] == [200, 200, 200, 429]
    refused = responses[-1]
    extensions = refused.json()["errors"][0]["extensions"]
    assert extensions["code"] == "RATE_LIMITED"
    assert extensions["retryAfterSeconds"] == int(refused.headers["retry-after"])
    assert [response.headers["ratelimit"].split(";")[1] for response in responses] == ["r=2", "r=1", "r=0", "r=0"]
    assert len(endpoint.executor.executed) == 3


async def test_over_http_costs_are_charged(serve: Serve) -> None:
    async with serve(rate_limit_points=1_000, rate_limit_window_s=3600) as endpoint:
        endpoint.executor.costs = 40
        response = await endpoint.post("{ hello }")

    assert response.headers["ratelimit"].startswith('"default";r=960;')


async def test_reading_ever_new_documents_is_charged(serve: Serve) -> None:
    async with serve(rate_limit_points=1_000, rate_limit_window_s=3600) as endpoint:
        long = [(await endpoint.post(f"query Q{i} {{ hello }} #{'x' * 4_000}")).status_code for i in range(7)]
        known = await endpoint.post(
            f"query Q0 {{ hello }} #{'x' * 4_000}", headers={"authorization": "Bearer " + (await endpoint.key())[0]}
        )
        faulty_secret, _ = await endpoint.key()
        faulty = [
            (
                await endpoint.post(f"{{ f{i} }} #{'x' * 1_000}", headers={"authorization": f"Bearer {faulty_secret}"})
            ).status_code
            for i in range(21)
        ]

    assert long == [200] * 4 + [429] * 3
    assert known.headers["ratelimit"].startswith('"default";r=999;')
    assert faulty == [200] * 19 + [429] * 2
