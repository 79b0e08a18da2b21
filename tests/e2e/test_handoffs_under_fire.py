"""The promise for handoffs: kill the worker while who took over is at work; the conversation comes back once, and what
a rule decided happens once."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx
import pytest
from sqlalchemy import text

from app.auth.roles import Role
from app.ids import Prefix, to_global
from tests.fixtures.installation import Installation

PATIENCE_S = 90.0
CONVERSATIONS = 3
START = "mutation { startConversation(input: {}) { ... on ConversationPayload { conversation { id } } } }"
HAND = """mutation ($id: ID!, $to: ID!) {
  handoffConversation(input: {conversationId: $id, toAgentId: $to, reason: "a bug", summary: "(takes five minutes)",
    timeoutSeconds: 6}) { __typename ... on Refusal { message } }
}"""
RULE = """mutation ($from: ID!, $to: ID!) {
  saveHandoffRule(input: {fromAgentId: $from, toAgentId: $to, condition: "draft complete"}) { __typename }
}"""
SAY = """mutation ($id: ID!, $text: String!) {
  sendMessage(input: {conversationId: $id, text: $text}) { __typename ... on Refusal { message } }
}"""
SCRIPT = "Write it slowly."
LUKE_AT_WORK = """select count(*) from task join agent on agent.id = assignee_id
    where task.team_id = $1 and task.status = 'in_progress' and agent.slug = 'luke'"""
OPEN = """select (select count(*) from reply where team_id = $1 and finished_at is null)
    + (select count(*) from conversation_handoff where team_id = $1 and ended_at is null and return_policy <> 'none')"""


@pytest.mark.timeout(180)
async def test_nothing_handed_over_is_lost_though_the_worker_is_killed(installation: Installation) -> None:
    team = installation.team
    kyra, luke = (to_global(Prefix.AGENT, agent.id) for agent in (team.kyra, team.luke))
    worker = installation.another("worker")
    headers = {"Authorization": f"Bearer {team.secrets[Role.ADMIN]}"}
    async with httpx.AsyncClient(base_url=installation.server.url, timeout=30, headers=headers) as client:

        async def run(query: str, **variables: Any) -> Any:
            body = (await client.post("/graphql", json={"query": query, "variables": variables})).json()
            assert "errors" not in body, body
            return body["data"]

        async def until(sql: str, wanted: bool) -> None:
            async with asyncio.timeout(PATIENCE_S):
                while bool(await installation.database.fetchval(sql, team.id)) is not wanted:  # noqa: ASYNC110
                    await asyncio.sleep(0.05)

        async def begun() -> str:
            found: str = (await run(START))["startConversation"]["conversation"]["id"]
            return found

        async def killed() -> None:
            """By kill -9; its leases run out at once, for the test's sake."""
            await asyncio.to_thread(worker.kill)
            async with installation.transaction() as session:
                await session.execute(text("update task set lease_until = now() where lease_until is not null"))

        await run(RULE, **{"from": kyra, "to": luke})
        for _ in range(CONVERSATIONS):
            await run(SAY, id=await begun(), text=SCRIPT)
            await run(HAND, id=await begun(), to=luke)
        worker.launch()
        try:
            await until(LUKE_AT_WORK, True)
            await killed()
            worker.launch()
            await until(OPEN, False)
        finally:
            worker.end()

    rows = installation.database.fetch
    assert [tuple(row) for row in await rows(
        "select reason, outcome, count(*) from conversation_handoff where team_id = $1 group by 1, 2 order by 1",
        installation.team.id,
    )] == [("a bug", "timed_out", CONVERSATIONS), ("draft complete", None, CONVERSATIONS)]  # fmt: skip
    said = await rows(
        """select author_name, text, count(*) from message where author = 'agent' and team_id = $1
        group by 1, 2 order by 1""",
        installation.team.id,
    )
    assert [tuple(row) for row in said] == [
        ("Kyra", "The draft is complete.", CONVERSATIONS),
        ("Luke", "I have read it.", CONVERSATIONS),
    ]
    wrong = {
        "a handoff that ended other than once": """
            select handoff.id from conversation_handoff handoff left join event on event.kind = 'conversation.returned'
                and event.changes->>'handoffId' = 'handoff_' || replace(handoff.id::text, '-', '')
            where handoff.team_id = $1 and return_policy <> 'none' group by handoff.id having count(event.id) <> 1""",
        "a conversation that did not come back": """
            select conversation.id from conversation join agent on agent.id = primary_agent_id
            join conversation_handoff handoff on handoff.conversation_id = conversation.id
            where conversation.team_id = $1 and return_policy <> 'none' and agent.slug <> 'kyra'""",
        "a reply that was decided on other than once": """
            select message.id from message left join step_decision decision on decision.message_id = message.id
            where message.team_id = $1 and author = 'agent' group by message.id having count(decision.id) <> 1""",
        "a task without an end": """
            select id from task where team_id = $1 and status in ('pending', 'in_progress')""",
        "money that is still reserved": "select id from budget_account where team_id = $1 and reserved <> 0",
    }
    assert {what: found for what, sql in wrong.items() if (found := await rows(sql, team.id))} == {}
