"""A server's memory is flat over many events, whether subscriptions are planned or need Python."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from typing import Any

import psutil
import pytest

from app.auth.roles import Role
from app.events.kinds import EventKind
from app.events.log import SYSTEM, append
from tests.fixtures.installation import SOAK, Installation
from tests.fixtures.streams import SocketClient, connected

SUBSCRIBERS = 50
EVENTS = 60_000 if SOAK else 2_000
WARM_UP = EVENTS // 4
AT_ONCE = 20
GROWTH_BYTES = 12_000_000 if SOAK else 4_000_000
PLANNED = "subscription { teamEvents { ... on Event { cursor } } }"
# The leak of graphql-core would show here: 1.16 kB an event in each subscription.
IN_PYTHON = "subscription { teamEvents { ... on Event { cursor agent { team { featureFlags { flag } } } } } }"


async def count(socket: SocketClient, wanted: int) -> None:
    seen = 0
    async for text in socket.connection:
        seen += b'"cursor"' in text if isinstance(text, bytes) else '"cursor"' in text
        if seen == wanted:
            return


async def write(installation: Installation, events: int) -> None:
    for _ in range(0, events, AT_ONCE):
        async with installation.transaction() as session:
            for _ in range(AT_ONCE):
                append(
                    session,
                    EventKind.AGENT_UPDATED,
                    team_id=installation.team.id,
                    actor=SYSTEM,
                    agent_id=installation.team.luke.id,
                )


async def exchange(installation: Installation, sockets: list[SocketClient], events: int) -> int:
    """Everybody gets so many events; answers the server's memory afterwards, in bytes."""
    reading = [asyncio.create_task(count(socket, events)) for socket in sockets]
    await write(installation, events)
    await asyncio.gather(*reading)
    return int(psutil.Process(installation.server.pid).memory_info().rss)


@pytest.mark.timeout(900 if SOAK else 120)
async def test_flat_over_many_events(installation: Installation) -> None:
    async with AsyncExitStack() as stack:
        sockets: list[Any] = []
        for number in range(SUBSCRIBERS):
            socket = await stack.enter_async_context(connected(installation.server.socket_url))
            await socket.init(installation.team.secrets[Role.ANALYST])
            await socket.subscribe(IN_PYTHON if number % 10 == 0 else PLANNED)
            await socket.receive("1")  # caught up
            sockets.append(socket)

        warm = await exchange(installation, sockets, WARM_UP)
        after = await exchange(installation, sockets, EVENTS)

    assert after - warm < GROWTH_BYTES, f"{warm:,} -> {after:,} bytes"
