"""The promise: kill any process, or Redis with its data, at any moment; no subscriber misses or repeats an event."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import httpx
import pytest
import redis.asyncio as redis_client
from websockets.exceptions import WebSocketException

from app.auth.roles import Role
from app.db.transaction import Transactions
from app.errors import AppError, Unavailable
from app.events.cursor import EventCursor
from app.events.kinds import EventKind
from app.events.log import SYSTEM, append
from tests.fixtures.installation import SOAK, Installation
from tests.fixtures.streams import TEAM_EVENTS, connected, event_stream

WRITERS, SOCKETS, EVENT_STREAMS = 8, 16, 4
SECONDS = 600.0 if SOAK else 5.0
PATIENCE_S = 60.0
FLAG = "mutation ($on: Boolean) { setFeatureFlags(input: {flags: [{flag: EXPERT_GATE, enabled: $on}]}) { __typename } }"
GONE = (OSError, WebSocketException, httpx.HTTPError, TimeoutError, AssertionError)


class Undone(AppError):
    pass


@dataclass
class Follower:
    """A client that keeps what it saw and the cursor to come back with, as a dashboard would."""

    installation: Installation
    cursor: str
    seen: list[str] = field(default_factory=list)
    gaps: int = 0
    connections: int = 0

    @property
    def secret(self) -> str:
        return self.installation.team.secrets[Role.ANALYST]

    def take(self, item: dict[str, Any]) -> None:
        self.cursor = item["cursor"]
        if item["__typename"] == "Event":
            self.seen.append(self.cursor)
        self.gaps += item["__typename"] == "Gap"

    async def follow(self, read: Callable[[Follower], Awaitable[None]]) -> None:
        """Come back for ever, having left by chance or by force."""
        while True:
            self.connections += 1
            with suppress(*GONE):
                async with asyncio.timeout(random.expovariate(1 / 2)):
                    await read(self)
            await asyncio.sleep(random.random() / 5)


async def over_socket(follower: Follower) -> None:
    async with connected(follower.installation.server.socket_url, close_timeout=0.2) as client:
        await client.init(follower.secret)
        await client.subscribe(TEAM_EVENTS, {"after": follower.cursor})
        while True:
            follower.take(await client.item())


async def over_event_stream(follower: Follower) -> None:
    async with (
        httpx.AsyncClient(base_url=follower.installation.server.url) as client,
        event_stream(client, follower.secret, TEAM_EVENTS, {"after": follower.cursor}) as events,
    ):
        async for name, payload in events:
            if name == "next":
                follower.take(payload["data"]["teamEvents"])


async def write(installation: Installation) -> None:
    while True:
        with suppress(Undone, Unavailable):
            await write_once(installation.transaction, installation)
        await asyncio.sleep(random.random() / 20)


async def write_once(transaction: Transactions, installation: Installation) -> None:
    async with transaction() as session:
        for _ in range(random.choice((1, 1, 1, 5))):
            append(session, EventKind.AGENT_UPDATED, team_id=installation.team.id, actor=SYSTEM)
        await session.flush()
        await asyncio.sleep(random.choice((0, 0, random.random() / 10)))
        if random.random() < 0.25:
            raise Undone("undone")


async def mutate(installation: Installation) -> None:
    headers = {"Authorization": f"Bearer {installation.team.secrets[Role.ADMIN]}"}
    async with httpx.AsyncClient(base_url=installation.server.url, headers=headers, timeout=5) as client:
        while True:
            with suppress(httpx.HTTPError):
                on = random.choice((True, False, None))
                await client.post("/graphql", json={"query": FLAG, "variables": {"on": on}})
            await asyncio.sleep(random.random() / 10)


async def kill_connections(installation: Installation) -> None:
    async with redis_client.Redis.from_url(installation.valkey.url()) as client:
        await client.client_kill_filter(skipme=True)


async def kill_valkey(installation: Installation) -> None:
    await asyncio.to_thread(installation.valkey.kill)
    await asyncio.sleep(random.random())
    await asyncio.to_thread(installation.valkey.start)


async def kill_server(installation: Installation) -> None:
    await asyncio.to_thread(installation.server.kill)
    await asyncio.to_thread(installation.server.start)


async def kill_postgres(installation: Installation) -> None:
    await asyncio.to_thread(installation.postgres.kill)
    await asyncio.sleep(random.random())
    await asyncio.to_thread(installation.postgres.start)


async def wreck(installation: Installation) -> None:
    """Every fault once at least, in any order, with a moment of work between them."""
    faults = [kill_connections, kill_valkey, kill_server, kill_postgres]
    until = time.monotonic() + SECONDS
    while True:
        random.shuffle(faults)
        for fault in faults:
            await asyncio.sleep(0.3 + random.random())
            await fault(installation)
        if time.monotonic() >= until:
            return


@pytest.mark.timeout(120 + SECONDS)
async def test_every_subscriber_gets_every_event_once_in_one_order(installation: Installation) -> None:
    async with installation.transaction() as session:
        first = append(session, EventKind.TEAM_UPDATED, team_id=installation.team.id, actor=SYSTEM)
        await session.flush()
        start = EventCursor(first.position, first.id, installation.team.id)
    followers = [Follower(installation, start.encode()) for _ in range(SOCKETS + EVENT_STREAMS)]
    ways = [over_socket] * SOCKETS + [over_event_stream] * EVENT_STREAMS
    following = [asyncio.create_task(f.follow(way)) for f, way in zip(followers, ways, strict=True)]

    work = [asyncio.create_task(write(installation)) for _ in range(WRITERS)]
    work.append(asyncio.create_task(mutate(installation)))
    await wreck(installation)
    await asyncio.sleep(0.5)
    await cancelled(work)
    await asyncio.sleep(0.5)  # a commit that was under way may still land
    expected = await committed(installation, start)
    await until_all_have(followers, len(expected))
    await asyncio.sleep(0.5)  # whoever is to repeat one may do so now
    await cancelled(following)

    assert len(expected) > 50
    assert [follower.gaps for follower in followers] == [0] * len(followers)
    for follower in followers:
        assert follower.seen == expected
    log = installation.log()
    assert "Traceback" not in log, log[log.index("Traceback") - 500 :][:3000]


async def cancelled(tasks: list[asyncio.Task[None]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def committed(installation: Installation, start: EventCursor) -> list[str]:
    rows = await installation.database.fetch(
        "select position, id from event where team_id = $1 and (position, id) > ($2, $3) order by position, id",
        installation.team.id,
        start.position,
        start.event_id,
    )
    return [EventCursor(row["position"], row["id"], installation.team.id).encode() for row in rows]


async def until_all_have(followers: list[Follower], count: int) -> None:
    with suppress(TimeoutError):
        async with asyncio.timeout(PATIENCE_S):
            while any(len(follower.seen) < count for follower in followers):  # noqa: ASYNC110
                await asyncio.sleep(0.1)
