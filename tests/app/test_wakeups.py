"""Wake-ups come back by themselves: after a killed connection, an empty restart, a connection that went silent."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import AsyncIterator

import pytest
import redis.asyncio as redis_client

from app import wakeups
from app.config import Settings, load_settings
from app.db.transaction import WakeUp
from app.dev.redis import EmbeddedValkey
from app.errors import Unavailable
from app.redis import Redis
from app.wakeups import Listener, Publisher

PATIENCE_S = 30.0


class Ear:
    """A listener, and how often it was woken."""

    def __init__(self, settings: Settings) -> None:
        self.woken = 0
        self.texts: list[str] = []
        self.listener = Listener(settings, WakeUp.EVENTS, self._wake, self.texts.append)
        self.task = asyncio.create_task(self.listener.run())

    def _wake(self) -> None:
        self.woken += 1

    async def is_woken_more_than(self, count: int) -> None:
        async with asyncio.timeout(PATIENCE_S):
            while self.woken <= count:  # noqa: ASYNC110
                await asyncio.sleep(0.005)


@pytest.fixture
def own_settings(own_valkey: EmbeddedValkey) -> Settings:
    return load_settings(DATABASE_URL="postgresql://nobody@/nothing", REDIS_URL=own_valkey.url())


@pytest.fixture
async def ear(own_settings: Settings) -> AsyncIterator[Ear]:
    ear = Ear(own_settings)
    await ear.is_woken_more_than(0)  # it wakes once when it is connected
    yield ear
    ear.task.cancel()
    await asyncio.gather(ear.task, return_exceptions=True)


@pytest.fixture
async def publisher(own_settings: Settings) -> AsyncIterator[Publisher]:
    redis = Redis(own_settings)
    publisher = Publisher(own_settings, redis)
    yield publisher
    await publisher.close()
    await redis.close()


async def test_a_message_wakes_the_listener_and_brings_its_text(ear: Ear, publisher: Publisher) -> None:
    before = ear.woken
    for text in ("", "one", "two"):
        await publisher.publish(WakeUp.EVENTS, text)

    await ear.is_woken_more_than(before + 2)
    assert ear.texts == ["one", "two"]


async def test_killed_connections_are_replaced(ear: Ear, publisher: Publisher, own_valkey: EmbeddedValkey) -> None:
    for _ in range(3):
        woken = ear.woken
        async with redis_client.Redis.from_url(own_valkey.url()) as client:
            await client.client_kill_filter(skipme=True)

        await ear.is_woken_more_than(woken)  # after a reconnect it wakes, for it may have missed some
        woken = ear.woken
        await publisher.publish(WakeUp.EVENTS)
        await ear.is_woken_more_than(woken)


async def test_an_empty_restart_is_survived(ear: Ear, publisher: Publisher, own_valkey: EmbeddedValkey) -> None:
    own_valkey.kill()
    with pytest.raises(Unavailable):
        await publisher.publish(WakeUp.EVENTS)
    async with asyncio.timeout(PATIENCE_S):
        while ear.listener.connected:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
    woken = ear.woken
    own_valkey.start()

    await ear.is_woken_more_than(woken)
    woken = ear.woken
    async with asyncio.timeout(PATIENCE_S):
        while True:  # for a second after a failure it does not ask Redis again
            try:
                await publisher.publish(WakeUp.EVENTS)
                break
            except Unavailable:
                await asyncio.sleep(0.05)
    await ear.is_woken_more_than(woken)


async def test_nothing_is_left_behind_while_redis_is_away(
    ear: Ear, own_valkey: EmbeddedValkey, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wakeups, "MAX_PAUSE_S", 0.02)
    own_valkey.kill()
    async with asyncio.timeout(PATIENCE_S):
        while ear.listener.connected:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
    gc.collect()
    early = len(asyncio.all_tasks())
    await asyncio.sleep(1)  # some dozens of tries
    gc.collect()

    assert len(asyncio.all_tasks()) <= early + 3


async def test_a_connection_that_went_silent_is_replaced(
    ear: Ear, own_valkey: EmbeddedValkey, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As behind a firewall that forgot it: open, but nothing passes."""
    monkeypatch.setattr(wakeups, "PROBE_EVERY_S", 0.1)
    monkeypatch.setattr(wakeups, "PROBE_TIMEOUT_S", 0.2)
    async with redis_client.Redis.from_url(own_valkey.url()) as client:
        before = [c["id"] for c in await client.client_list(_type="pubsub")]
        monkeypatch.setattr(ear.listener, "_probe_channel", "a channel that nobody listens to")
        async with asyncio.timeout(PATIENCE_S):
            while (after := [c["id"] for c in await client.client_list(_type="pubsub")]) == before:  # noqa: ASYNC110
                await asyncio.sleep(0.05)

    assert len(before) == 1
    assert after != before
    assert len(after) <= 1
