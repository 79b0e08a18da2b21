"""A client that takes nothing for too long is let go, and harms nobody until then."""

from __future__ import annotations

import asyncio
import re
import time
from contextlib import AsyncExitStack
from typing import Any

import pytest

from app.config import Settings, load_settings
from tests.fixtures.parley import Parley
from tests.fixtures.streams import TEAM_EVENTS, Connect, SocketClient, Writer, event_stream

STALLED_S = 3.0
PAD = "x" * 100_000
EVENTS = 100  # with their padding 10 MB, far more than all buffers on the way hold


@pytest.fixture
def parley_settings(database_url: str, redis_url: str) -> Settings:
    return load_settings(
        DATABASE_URL=database_url,
        REDIS_URL=redis_url,
        port=0,
        log_level="error",
        stalled_socket_s=STALLED_S,
        shutdown_grace_s=2,
    )


async def aborted(parley: Parley) -> float:
    text = (await parley.client.get("/metrics")).text
    found = re.search(r"^parley_sockets_aborted_total (\S+)", text, re.MULTILINE)
    assert found is not None
    return float(found[1])


async def until_one_more_is_aborted(parley: Parley, before: float) -> None:
    async with asyncio.timeout(4 * STALLED_S):
        while await aborted(parley) == before:  # noqa: ASYNC110
            await asyncio.sleep(0.1)


async def write(writer: Writer, numbers: range) -> None:
    for number in numbers:
        await writer.say(number, pad=PAD)


async def test_one_stalled_among_two_hundred(parley: Parley, connect: Connect, writer: Writer) -> None:
    """It is aborted after the limit and counted; nobody else notices."""
    before = await aborted(parley)
    start = await writer.say(-1)
    async with AsyncExitStack() as stack:
        sockets = [await stack.enter_async_context(connect(max_queue=1 if not n else 64)) for n in range(200)]
        for socket in sockets:
            await socket.subscribe(TEAM_EVENTS.replace("changes", "kind"), {"after": start})
        stalled, others = sockets[0], sockets[1:]
        await stalled.subscribe(TEAM_EVENTS, {"after": start}, id="large")
        for socket in sockets:
            await socket.caught_up()
        counting = [asyncio.create_task(cursors(socket, EVENTS)) for socket in others]

        await write(writer, range(EVENTS))
        seen = await asyncio.gather(*counting)
        await until_one_more_is_aborted(parley, before)

        assert await aborted(parley) == before + 1
        assert all(each == seen[0] for each in seen)
        assert len(set(seen[0])) == EVENTS
        await writer.say(EVENTS)
        for socket in others[:10]:
            assert (await socket.item())["kind"] == "AGENT_UPDATED"
        stalled.connection.transport.abort()


async def cursors(socket: SocketClient, count: int) -> list[str]:
    found: list[Any] = []
    while len(found) < count:
        item = await socket.item()
        if item["__typename"] == "Event":
            found.append(item["cursor"])
    return found


async def test_a_stalled_event_stream_is_aborted(parley: Parley, writer: Writer) -> None:
    before = await aborted(parley)
    start = await writer.say(-1)
    secret = next(iter(parley.home.secrets.values()))
    async with event_stream(parley.client, secret, TEAM_EVENTS, {"after": start}) as events:
        await anext(events)
        began = time.monotonic()
        await write(writer, range(EVENTS))
        await until_one_more_is_aborted(parley, before)

    assert time.monotonic() - began >= STALLED_S
    text = ""
    async with asyncio.timeout(5):
        while 'parley_open_connections{transport="sse"} 0.0' not in text:  # rendered at most once a second
            text = (await parley.client.get("/metrics")).text
            await asyncio.sleep(0.1)
