"""SIGTERM: clients are told to come back, work under way is finished, and streams do not hold the process."""

from __future__ import annotations

import asyncio

import asyncpg
import httpx
from sqlalchemy import update

from app.agents.models import Agent, AgentRuntime
from app.auth.roles import Role
from tests.fixtures.installation import GRACE_S, Installation
from tests.fixtures.streams import TEAM_EVENTS, connected, event_stream

CLAIM = """mutation { claimTask(input: {waitSeconds: 10}) {
  ... on ClaimTaskPayload { task { id } } ... on Refusal { message } } }"""
PAUSE = "mutation ($id: ID!) { pauseAgent(input: {agentId: $id}) { __typename } }"


async def test_streams_and_waits_end_at_once_and_clients_are_asked_to_come_back(installation: Installation) -> None:
    secret = installation.team.secrets[Role.ANALYST]
    async with installation.transaction() as session:
        mine = update(Agent).where(Agent.team_id == installation.team.id)
        await session.execute(mine.values(runtime=AgentRuntime.EXTERNAL))
    async with (
        httpx.AsyncClient(base_url=installation.server.url) as client,
        event_stream(client, secret, TEAM_EVENTS) as events,
        connected(installation.server.socket_url) as following,
        connected(installation.server.socket_url) as waiting,
        connected(installation.server.socket_url) as stranger,
    ):
        await anext(events)
        for socket, role in ((following, Role.ANALYST), (waiting, Role.AGENT)):
            await socket.init(installation.team.secrets[role])
        await following.subscribe(TEAM_EVENTS)
        await following.caught_up()
        await waiting.subscribe(CLAIM, id="claim")
        await waiting.subscribe("{ team { slug } }", id="later")
        assert (await waiting.receive("later"))["type"] == "next"  # so the claim is under way

        stopping = asyncio.create_task(asyncio.to_thread(installation.server.terminate))
        claimed = await waiting.receive("claim")
        codes = [await socket.close_code() for socket in (following, waiting, stranger)]
        rest = [name async for name, _ in events]
        took = await stopping

    assert claimed["payload"] == {"data": {"claimTask": {"task": None}}}
    assert codes == [1012, 1012, 1012]
    assert "complete" not in rest
    assert took < GRACE_S / 2
    assert "Traceback" not in installation.log()


async def test_running_mutations_are_finished(installation: Installation) -> None:
    """They wait for a lock that is let go only after the signal: one came by HTTP, one by WebSocket."""
    home, secret = installation.team, installation.team.secrets[Role.ADMIN]
    locker = await asyncpg.connect(installation.postgres.url())
    await locker.execute("begin")
    await locker.execute("select from agent for update")
    async with (
        httpx.AsyncClient(base_url=installation.server.url, timeout=20) as client,
        connected(installation.server.socket_url) as socket,
    ):
        await socket.init(secret)
        await socket.subscribe(PAUSE, {"id": home.agent_id}, id="m")
        posting = asyncio.create_task(
            client.post(
                "/graphql",
                json={"query": PAUSE, "variables": {"id": "agent_" + home.kyra.id.hex}},
                headers={"Authorization": f"Bearer {secret}"},
            )
        )
        await until_both_wait(installation)

        stopping = asyncio.create_task(asyncio.to_thread(installation.server.terminate))
        await asyncio.sleep(1)
        await locker.execute("commit")
        by_socket = await socket.receive("m")
        code = await socket.close_code()
        by_http = (await posting).json()
        await stopping

    await locker.close()
    assert by_socket["payload"] == by_http == {"data": {"pauseAgent": {"__typename": "AgentPayload"}}}
    assert code == 1012
    found = await installation.database.fetch("select status from agent where team_id = $1", home.id)
    assert [row["status"] for row in found] == ["paused", "paused"]


async def until_both_wait(installation: Installation) -> None:
    waiting = "select count(*) from pg_stat_activity where wait_event_type = 'Lock'"
    async with asyncio.timeout(GRACE_S):
        while await installation.database.fetchval(waiting) < 2:  # noqa: ASYNC110
            await asyncio.sleep(0.02)


async def test_a_client_that_takes_nothing_does_not_hold_the_server(installation: Installation) -> None:
    async with connected(installation.server.socket_url, max_queue=1) as socket:
        await socket.init(installation.team.secrets[Role.ADMIN])
        huge = (
            "query { " + " ".join(f"a{n}: team {{ agents(first: 50) {{ nodes {{ id }} }} }}" for n in range(15)) + " }"
        )
        for number in range(90):
            await socket.subscribe(huge, id=str(number))
        await asyncio.sleep(1)

        took = await asyncio.to_thread(installation.server.terminate)
        socket.connection.transport.abort()

    assert took < GRACE_S + 3
