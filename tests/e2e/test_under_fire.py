"""The promise: kill any process, or Redis with its data, at any moment; no subscriber misses or repeats an event."""

from __future__ import annotations

import asyncio
import random
from contextlib import suppress

import httpx
import pytest

from app.auth.roles import Role
from app.db.transaction import Transactions
from app.errors import AppError, Unavailable
from app.events.cursor import EventCursor
from app.events.kinds import EventKind
from app.events.log import SYSTEM, append
from tests.fixtures.faults import (
    Follower,
    cancelled,
    kill_connections,
    kill_postgres,
    kill_server,
    kill_valkey,
    over_event_stream,
    over_socket,
    until_all_have,
    wreck,
)
from tests.fixtures.installation import SOAK, Installation

WRITERS, SOCKETS, EVENT_STREAMS = 8, 16, 4
SECONDS = 600.0 if SOAK else 5.0
FAULTS = (kill_connections, kill_valkey, kill_server, kill_postgres)
FLAG = "mutation ($on: Boolean) { setFeatureFlags(input: {flags: [{flag: EXPERT_GATE, enabled: $on}]}) { __typename } }"


class Undone(AppError):
    pass


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
    await wreck(installation, FAULTS, SECONDS)
    await asyncio.sleep(0.5)
    await cancelled(work)
    await asyncio.sleep(0.5)  # a commit that was under way may still land
    expected = await committed(installation, start)
    await until_all_have(followers, [len(expected)] * len(followers))
    await asyncio.sleep(0.5)  # whoever is to repeat one may do so now
    await cancelled(following)

    assert len(expected) > 50
    assert [follower.gaps for follower in followers] == [0] * len(followers)
    for follower in followers:
        assert follower.seen == expected
    log = installation.log()
    assert "Traceback" not in log, log[max(0, log.index("Traceback") - 500) :][:5000]


async def committed(installation: Installation, start: EventCursor) -> list[str]:
    rows = await installation.database.fetch(
        "select position, id from event where team_id = $1 and (position, id) > ($2, $3) order by position, id",
        installation.team.id,
        start.position,
        start.event_id,
    )
    return [EventCursor(row["position"], row["id"], installation.team.id).encode() for row in rows]
