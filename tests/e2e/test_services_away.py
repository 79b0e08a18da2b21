"""PostgreSQL and Valkey stopped and started under running processes: clear errors meanwhile, all well soon after."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from app.auth.roles import Role
from app.events.kinds import EventKind
from app.events.log import SYSTEM, append
from tests.fixtures.installation import Installation
from tests.fixtures.streams import TEAM_EVENTS, SocketClient, connected

NAME = "{ team { slug } }"
PAUSE = "mutation ($id: ID!) { pauseAgent(input: {agentId: $id}) { __typename } }"
QUICK_S = 3.0


@pytest.fixture
async def client(installation: Installation) -> AsyncIterator[httpx.AsyncClient]:
    headers = {"Authorization": f"Bearer {installation.team.secrets[Role.ADMIN]}"}
    async with httpx.AsyncClient(base_url=installation.server.url, headers=headers, timeout=20) as opened:
        yield opened


async def ask(client: httpx.AsyncClient, query: str, **variables: Any) -> tuple[int, Any, float]:
    """Status, answer and seconds."""
    started = time.monotonic()
    response = await client.post("/graphql", json={"query": query, "variables": variables})
    return response.status_code, response.json(), time.monotonic() - started


async def failing(client: httpx.AsyncClient) -> set[str]:
    """The checks that /readyz says fail; without Redis alone the server is degraded, but ready."""
    response = await client.get("/readyz")
    checks = response.json()["checks"]
    found = {name for name, check in checks.items() if not check["ok"]}
    assert (response.status_code == 503) == bool(found - {"redis"})
    return found


async def until_ready(client: httpx.AsyncClient) -> float:
    started = time.monotonic()
    async with asyncio.timeout(20):
        while await failing(client):  # noqa: ASYNC110
            await asyncio.sleep(0.05)
    return time.monotonic() - started


async def say(installation: Installation, number: int) -> None:
    async with installation.transaction() as session:
        kind, team_id = EventKind.AGENT_UPDATED, installation.team.id
        append(session, kind, team_id=team_id, actor=SYSTEM, changes={"n": number})


async def follow(installation: Installation, socket: SocketClient) -> None:
    await socket.init(installation.team.secrets[Role.ANALYST])
    await socket.subscribe(TEAM_EVENTS, {"kinds": ["AGENT_UPDATED"]})
    await socket.caught_up()


async def test_postgres_away(installation: Installation, client: httpx.AsyncClient) -> None:
    async with connected(installation.server.socket_url) as socket:
        await follow(installation, socket)
        assert (await ask(client, NAME))[0] == 200
        await asyncio.to_thread(installation.postgres.stop)

        # A mutation answers 200, as any operation does that was begun: its field is null and says why.
        for query, variables, expected in ((NAME, {}, 503), (PAUSE, {"id": installation.team.agent_id}, 200)):
            for _ in range(3):
                status, answer, seconds = await ask(client, query, **variables)
                code = answer["errors"][0]["extensions"]["code"]
                assert (status, code) == (expected, "UNAVAILABLE"), answer
                assert seconds < QUICK_S
        assert "database" in await failing(client)
        assert "redis" not in await failing(client)
        async with connected(installation.server.socket_url) as other:
            secret = installation.team.secrets[Role.ANALYST]
            await other.send({"type": "connection_init", "payload": {"Authorization": f"Bearer {secret}"}})
            assert await other.close_code() == 1013

        await asyncio.to_thread(installation.postgres.start)
        back = await until_ready(client)
        status, answer, _ = await ask(client, NAME)
        paused = await ask(client, PAUSE, id=installation.team.agent_id)
        await say(installation, 1)

        assert back < 5
        assert (status, answer) == (200, {"data": {"team": {"slug": installation.team.slug}}})
        assert paused[1] == {"data": {"pauseAgent": {"__typename": "AgentPayload"}}}  # the first one already
        assert await socket.numbers(1) == [1]
        assert "Traceback" not in installation.log()


async def test_valkey_away(installation: Installation, client: httpx.AsyncClient) -> None:
    """Nothing fails: limits are kept by each process, and events are found by polling."""
    async with connected(installation.server.socket_url) as socket:
        await follow(installation, socket)
        await asyncio.to_thread(installation.valkey.kill)

        assert await failing(client) == {"redis"}
        status, answer, seconds = await ask(client, PAUSE, id=installation.team.agent_id)
        assert (status, answer) == (200, {"data": {"pauseAgent": {"__typename": "AgentPayload"}}})
        assert seconds < QUICK_S
        await say(installation, 1)
        assert await socket.numbers(1) == [1]

        await asyncio.to_thread(installation.valkey.start)
        assert await until_ready(client) < 5
        await say(installation, 2)
        assert await socket.numbers(1) == [2]
        assert "Traceback" not in installation.log()


async def test_keys_are_revoked_while_valkey_is_away(installation: Installation, client: httpx.AsyncClient) -> None:
    revoke = "mutation ($id: ID!) { revokeApiKey(input: {apiKeyId: $id}) { __typename } }"
    second = installation.another("serve")
    await asyncio.to_thread(second.start)
    try:
        async with connected(second.socket_url) as socket:
            await socket.init(installation.team.secrets[Role.ANALYST])
            await asyncio.to_thread(installation.valkey.kill)

            await ask(client, revoke, id=installation.team.key_id(Role.ANALYST))
            revoked = time.monotonic()

            assert await socket.close_code() == 4403
            assert time.monotonic() - revoked < 4
    finally:
        second.end()


@pytest.mark.timeout(150)
async def test_the_worker_survives_both(installation: Installation) -> None:
    worker = installation.another("worker")
    worker.launch()
    try:
        await until_jobs_ran(installation)
        await asyncio.to_thread(installation.valkey.kill)
        await asyncio.to_thread(installation.postgres.stop)
        await asyncio.sleep(2)
        await asyncio.to_thread(installation.postgres.start)
        await asyncio.to_thread(installation.valkey.start)

        await until_jobs_ran(installation)
        assert worker.process is not None
        assert worker.process.runs()
        assert worker.terminate() < 12
        assert "Traceback" not in worker.log.read_text()
    finally:
        worker.end()


async def until_jobs_ran(installation: Installation) -> None:
    """The worker makes a partition that is missing as soon as it runs."""
    async with asyncio.timeout(50):
        await drop_newest_partition(installation)
        while await partitions(installation) < PARTITIONS:  # noqa: ASYNC110
            await asyncio.sleep(0.1)


PARTITIONS = 10


async def partitions(installation: Installation) -> int:
    counted = "select count(*) from pg_inherits where inhparent = 'event'::regclass"
    return int(await installation.database.fetchval(counted))


async def drop_newest_partition(installation: Installation) -> None:
    newest = await installation.database.fetchval(
        "select max(inhrelid::regclass::text) from pg_inherits where inhparent = 'event'::regclass"
    )
    async with installation.database.engine.begin() as connection:
        await connection.exec_driver_sql(f"drop table {newest}")
