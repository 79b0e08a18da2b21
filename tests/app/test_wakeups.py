"""Wake-ups come back by themselves: after a killed connection, an empty restart, a connection that went silent."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest
import redis.asyncio as redis_client
from app.events.wakeups import Listener, Ringer

from app.config import Settings, load_settings
from app.db.transaction import Bell
from app.dev.redis import EmbeddedValkey
from app.events import wakeups
from app.redis import Redis

PATIENCE_S = 30.0


class Ear:
    """A listener, and what it heard."""

    def __init__(self, settings: Settings) -> None:
        self.heard = 0
        self.listener = Listener(settings, Bell.EVENTS, self._hear)
        self.task = asyncio.create_task(self.listener.run())

    def _hear(self) -> None:
        self.heard += 1

    async def hears_more_than(self, count: int) -> None:
        async with asyncio.timeout(PATIENCE_S):
            while self.heard <= count:  # noqa: ASYNC110
                await asyncio.sleep(0.005)


@pytest.fixture
def own_settings(own_valkey: EmbeddedValkey) -> Settings:
    return load_settings(DATABASE_URL="postgresql://nobody@/nothing", REDIS_URL=own_valkey.url())


@pytest.fixture
async def ear(own_settings: Settings) -> AsyncIterator[Ear]:
    ear = Ear(own_settings)
    await ear.hears_more_than(0)  # it wakes once when it is connected
    yield ear
    ear.task.cancel()
    await asyncio.gather(ear.task, return_exceptions=True)


@pytest.fixture
async def ringer(own_settings: Settings) -> AsyncIterator[Ringer]:
    redis = Redis(own_settings)
    ringer = Ringer(redis)
    yield ringer
    await ringer.close()
    await redis.close()


async def test_every_ring_is_heard_but_a_crowd_is_heard_as_a_few(ear: Ear, ringer: Ringer) -> None:
    for _ in range(200):
        await ringer([Bell.EVENTS])

    await ear.hears_more_than(1)
    await asyncio.sleep(0.2)
    assert 2 <= ear.heard <= 20


async def test_killed_connections_are_replaced(ear: Ear, ringer: Ringer, own_valkey: EmbeddedValkey) -> None:
    for _ in range(3):
        heard = ear.heard
        async with redis_client.Redis.from_url(own_valkey.url()) as client:
            await client.client_kill_filter(skipme=True)

        await ear.hears_more_than(heard)  # after a reconnect it wakes, for it may have missed some
        heard = ear.heard
        await ringer([Bell.EVENTS])
        await ear.hears_more_than(heard)


async def test_an_empty_restart_is_survived(ear: Ear, ringer: Ringer, own_valkey: EmbeddedValkey) -> None:
    own_valkey.kill()
    await ringer([Bell.EVENTS])  # lost, and nobody waits for it
    await asyncio.sleep(0.5)
    away = ear.listener.connected
    heard = ear.heard
    own_valkey.start()

    await ear.hears_more_than(heard)
    heard = ear.heard
    await asyncio.sleep(1.1)  # the pause after which Redis is asked again
    await ringer([Bell.EVENTS])
    await ear.hears_more_than(heard)
    assert not away


async def test_nothing_is_left_behind_while_redis_is_away(
    ear: Ear, own_valkey: EmbeddedValkey, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wakeups, "_LONGEST_PAUSE_S", 0.02)
    own_valkey.kill()
    await asyncio.sleep(0.5)
    early = len(asyncio.all_tasks())
    await asyncio.sleep(1)

    assert len(asyncio.all_tasks()) <= early + 3


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wakeups, "_QUIET_S", 0.2)


async def test_a_connection_that_went_silent_is_replaced(
    impatient: None, ear: Ear, own_valkey: EmbeddedValkey, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As behind a firewall that forgot it: open, but nothing passes."""
    async with redis_client.Redis.from_url(own_valkey.url()) as client:
        await asyncio.sleep(0.5)
        before = [c["id"] for c in await client.client_list(_type="pubsub")]
        monkeypatch.setattr(wakeups._Backend, "publish", _swallowed)
        async with asyncio.timeout(PATIENCE_S):
            while (after := [c["id"] for c in await client.client_list(_type="pubsub")]) == before:  # noqa: ASYNC110
                await asyncio.sleep(0.05)

    assert len(before) == 1
    assert after != before
    assert len(after) <= 1


async def _swallowed(self: object, channel: str, message: str) -> None:
    return
