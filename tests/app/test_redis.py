"""Redis may go away and come back; callers are told at once and never wait in line."""

from __future__ import annotations

import asyncio
import time

import pytest

from app import redis as module
from app.config import load_settings
from app.dev.redis import EmbeddedValkey
from app.errors import ConfigurationError, Unavailable
from app.redis import Redis
from tests.fixtures.logs import logged


async def test_away_is_said_once_and_so_is_back(own_valkey: EmbeddedValkey, monkeypatch: pytest.MonkeyPatch) -> None:
    redis = Redis(load_settings(REDIS_URL=own_valkey.url()))
    await redis.run(lambda client: client.set("a", "1"))

    with logged() as lines:
        own_valkey.stop()
        for _ in range(3):
            with pytest.raises(Unavailable):
                await redis.run(lambda client: client.get("a"))
        own_valkey.start()
        monkeypatch.setattr(module, "PAUSE_S", 0.0)
        redis._retry_at = 0.0
        await redis.run(lambda client: client.get("a"))
    await redis.close()

    assert [line["event"] for line in lines] == [
        "Redis is away; limits are kept per process until it returns",
        "Redis is back",
    ]


async def test_while_away_calls_fail_at_once(own_valkey: EmbeddedValkey) -> None:
    redis = Redis(load_settings(REDIS_URL=own_valkey.url()))
    own_valkey.stop()
    with pytest.raises(Unavailable):
        await redis.ping()

    started = time.process_time()
    for _ in range(1_000):
        with pytest.raises(Unavailable):
            await redis.run(lambda client: client.ping())
    await redis.close()

    assert time.process_time() - started < 0.5


async def test_ping_asks_even_while_calls_fail_at_once(own_valkey: EmbeddedValkey) -> None:
    redis = Redis(load_settings(REDIS_URL=own_valkey.url()))
    own_valkey.stop()
    with pytest.raises(Unavailable):
        await redis.ping()
    own_valkey.start()

    assert await redis.ping() > 0
    await redis.run(lambda client: client.ping())
    await redis.close()


async def test_a_connection_that_died_while_idle_is_replaced(own_valkey: EmbeddedValkey) -> None:
    redis = Redis(load_settings(REDIS_URL=own_valkey.url()))
    await redis.run(lambda client: client.ping())
    own_valkey.stop()
    own_valkey.start()

    assert await redis.run(lambda client: client.ping())
    await redis.close()


async def test_while_redis_hangs_one_caller_waits_and_the_others_do_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "TIMEOUT_S", 0.1)
    monkeypatch.setattr(module, "PAUSE_S", 0.05)
    done = asyncio.Event()

    async def hang(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await done.wait()
        writer.close()

    server = await asyncio.start_server(hang, "127.0.0.1", 0)
    redis = Redis(load_settings(REDIS_URL=f"redis://127.0.0.1:{server.sockets[0].getsockname()[1]}"))
    with pytest.raises(Unavailable):
        await redis.run(lambda client: client.ping())
    await asyncio.sleep(0.06)
    waiting = asyncio.create_task(redis.run(lambda client: client.ping()))
    await asyncio.sleep(0)

    with pytest.raises(Unavailable):
        await redis.run(lambda client: client.ping())
    assert not waiting.done()
    with pytest.raises(Unavailable):
        await waiting

    done.set()
    await redis.close()
    server.close()


def test_an_address_is_needed() -> None:
    with pytest.raises(ConfigurationError, match="REDIS_URL"):
        Redis(load_settings(REDIS_URL=None))
