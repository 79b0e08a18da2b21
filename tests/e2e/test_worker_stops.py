"""A worker that is stopped gives its work back at once, the work of one that is killed runs again within 15 seconds,
and what waits for a person outlives everything."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx
import pytest

from app.auth.roles import Role
from app.config import Flags
from app.ids import Prefix, to_global
from tests.fixtures.desk import Desk
from tests.fixtures.faults import kill_postgres, kill_server, kill_valkey
from tests.fixtures.installation import Installation

PATIENCE_S = 60.0
ASKED = "select id from attention_item where team_id = $1 and state = 'open' and holds_task"
DONE = "select result from task where team_id = $1 and status = 'completed'"
ANSWER = """mutation ($id: ID!) { answerAttention(input: {attentionId: $id, text: "The French one."}) {
  __typename ... on AttentionPayload { attentionItem { closedBy } } ... on Refusal { code message } } }"""


async def value(installation: Installation, sql: str) -> Any:
    """Of the team, as soon as there is one."""
    async with asyncio.timeout(PATIENCE_S):
        while (found := await installation.database.fetchval(sql, installation.team.id)) is None:  # noqa: ASYNC110
            await asyncio.sleep(0.05)
    return found


async def attempt(installation: Installation, number: int) -> Any:
    """The attempt of the team's only task, as soon as there is one."""
    sql = "select outcome, started_at, ended_at from task_attempt where team_id = $1 and number = $2"
    async with asyncio.timeout(PATIENCE_S):
        while (found := await installation.database.fetchrow(sql, installation.team.id, number)) is None:  # noqa: ASYNC110
            await asyncio.sleep(0.05)
    return found


@pytest.mark.timeout(120)
async def test_stopped_and_killed(installation: Installation) -> None:
    flags = Flags(task_delegation=True)
    desk = Desk(
        installation.transaction, installation.settings.model_copy(update={"flags": flags}), installation.team.id
    )
    worker = installation.another("worker")
    worker.environment |= {"PARLEY_SHUTDOWN_GRACE_S": "0.5"}
    task = await desk.delegate("asker", "worker", instructions="@wait 500", timeout_seconds=600)
    try:
        worker.launch()
        await attempt(installation, 1)
        await asyncio.to_thread(worker.terminate)
        assert await desk.status(task) == ["pending"]
        assert (await attempt(installation, 1))["outcome"] == "released"

        worker.launch()
        await attempt(installation, 2)
        await asyncio.to_thread(worker.kill)
        killed_at = await installation.database.fetchval("select clock_timestamp()")
        worker.launch()
        again = await attempt(installation, 3)
    finally:
        worker.end()

    assert (await attempt(installation, 2))["outcome"] == "lost"
    assert (again["started_at"] - killed_at).total_seconds() < 15
    assert "Traceback" not in worker.log.read_text()


@pytest.mark.timeout(180)
async def test_what_waits_for_a_person_outlives_everything(installation: Installation) -> None:
    settings = installation.settings.model_copy(update={"flags": Flags(task_delegation=True)})
    desk = Desk(installation.transaction, settings, installation.team.id)
    worker = installation.another("worker")
    task = await desk.delegate("asker", "worker", instructions='@tool ask_person {"question": "Which market?"}')
    headers = {"Authorization": f"Bearer {installation.team.secrets[Role.OPERATOR]}"}
    try:
        worker.launch()
        item = to_global(Prefix.ATTENTION, await value(installation, ASKED))
        await asyncio.to_thread(worker.kill)
        for kill in (kill_valkey, kill_postgres, kill_server):
            await kill(installation)
        async with httpx.AsyncClient(base_url=installation.server.url, timeout=30, headers=headers) as client:
            said = await client.post("/graphql", json={"query": ANSWER, "variables": {"id": item}})
        worker.launch()
        result = await value(installation, DONE)
    finally:
        worker.end()

    answered = {"__typename": "AttentionPayload", "attentionItem": {"closedBy": "operator key"}}
    assert said.json() == {"data": {"answerAttention": answered}}
    assert "The French one." in result
    assert [kind for kind in await desk.kinds(task) if kind != "task.progressed"] == [
        "task.created", "task.claimed", "task.tool_called", "task.put_aside", "task.requeued", "task.claimed",
        "task.tool_called", "task.completed",
    ]  # fmt: skip
