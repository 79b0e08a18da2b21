"""A mutation's cursor: everything that follows it, nothing that came before. On a database of its own, because another
test's transactions would count as older ones."""

from __future__ import annotations

import asyncpg
import httpx

from app.auth.roles import Role
from tests.fixtures.installation import Installation
from tests.fixtures.streams import TEAM_EVENTS, SocketClient, connected

PAUSE = """
mutation ($id: ID!) {
  pauseAgent(input: {agentId: $id}) { ... on AgentPayload { eventCursor } ... on Refusal { message } }
}
"""
RESUME = PAUSE.replace("pauseAgent", "resumeAgent")


async def run(installation: Installation, mutation: str) -> str:
    headers = {"Authorization": f"Bearer {installation.team.secrets[Role.ADMIN]}"}
    body = {"query": mutation, "variables": {"id": installation.team.agent_id}}
    async with httpx.AsyncClient(base_url=installation.server.url, headers=headers, timeout=20) as client:
        (payload,) = (await client.post("/graphql", json=body)).json()["data"].values()
    return str(payload["eventCursor"])


async def kinds_behind(installation: Installation, socket: SocketClient, cursor: str) -> list[str]:
    await socket.init(installation.team.secrets[Role.ANALYST])
    await socket.subscribe(TEAM_EVENTS, {"after": cursor})
    kinds = []
    while (item := await socket.item())["__typename"] == "Event":
        kinds.append(item["kind"])
    assert item["__typename"] == "CaughtUp"
    return kinds


async def test_it_sees_exactly_what_follows(installation: Installation) -> None:
    cursor = await run(installation, PAUSE)
    await run(installation, RESUME)

    async with connected(installation.server.socket_url) as socket:
        assert await kinds_behind(installation, socket, cursor) == ["AGENT_RESUMED"]


async def test_what_an_older_transaction_commits_later_is_not_missed(installation: Installation) -> None:
    older = await asyncpg.connect(installation.postgres.url())
    await older.execute("begin")
    await older.execute(
        "insert into event (id, team_id, kind, actor, changes) values (gen_random_uuid(), $1, $2, 'older', '{}')",
        installation.team.id,
        "agent.updated",
    )
    cursor = await run(installation, PAUSE)
    await older.execute("commit")
    await older.close()

    async with connected(installation.server.socket_url) as socket:
        kinds = await kinds_behind(installation, socket, cursor)

    assert kinds.count("AGENT_UPDATED") == 1
