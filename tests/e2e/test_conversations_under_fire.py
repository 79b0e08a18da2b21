"""The promise for conversations: kill workers in every phase of replies and ensembles; every message is answered once,
in one order that all participants share."""

from __future__ import annotations

import asyncio
import random
from dataclasses import dataclass
from typing import Any

import httpx
import pytest

from app.agents import service as agents
from app.agents.spec import AgentSpec, SkillSpec
from app.auth.roles import Role
from app.events.log import SYSTEM
from app.ids import Prefix, to_global
from app.teams import service as teams
from app.teams.flags import FeatureFlag
from tests.fixtures.installation import HALF_A_SECOND, SOAK, Installation, ParleyProcess

CONVERSATIONS, MESSAGES, KILLS, SERVERS = (50, 6, 12, 2) if SOAK else (4, 2, 1, 1)
PATIENCE_S = 120.0
START = """mutation { startConversation(input: {}) { ... on ConversationPayload { conversation { id } } } }"""
SEND = """mutation ($id: ID!, $text: String!, $strategy: RoutingStrategy!, $key: String!) {
  sendMessage(input: {conversationId: $id, text: $text, strategy: $strategy, threshold: 0, idempotencyKey: $key}) {
    __typename ... on Refusal { message }
  }
}"""
REMEMBER = """mutation ($text: String!) { remember(input: {text: $text, kind: SHARED}) { __typename } }"""
RECALL = """query ($agent: ID!) { recallMemories(query: "harbour gates", agentId: $agent, first: 50) {
  memory { text } } }"""
OWED = "select id from follow_up where team_id = $1 and kind <> 'contribution_overdue'"
OPEN = "select count(*) from reply where team_id = $1 and finished_at is null"
SEEN = """query ($id: ID!) { agents { nodes { slug contextFor(conversationId: $id) {
  question { number } history { number } condensed } } } }"""
HISTORY = """query ($id: ID!) { conversation(id: $id) { messages(first: 100) { nodes { number author text } } } }"""


@dataclass
class Hall:
    """Users of an installation, who talk to whichever API process comes next."""

    installation: Installation
    client: httpx.AsyncClient
    urls: list[str]

    async def run(self, query: str, variables: dict[str, Any] | None = None, url: str | None = None) -> Any:
        headers = {"Authorization": f"Bearer {self.installation.team.secrets[Role.ADMIN]}"}
        answer = await self.client.post(
            f"{url or random.choice(self.urls)}/graphql",
            json={"query": query, "variables": variables or {}},
            headers=headers,
        )
        body = answer.json()
        assert "errors" not in body, body
        return body["data"]

    async def converse(self, number: int) -> str:
        """The strategies by turns; who sends does not wait for answers."""
        conversation: str = (await self.run(START))["startConversation"]["conversation"]["id"]
        for turn in range(MESSAGES):
            strategy = ("TOP_1", "ENSEMBLE", "TOP_K", "CASCADE")[(number + turn) % 4]
            wanted = {
                "text": f"Let us go talking {turn} {HALF_A_SECOND}",
                "strategy": strategy,
                "key": f"{number}-{turn}",
            }
            sent = await self.run(SEND, {"id": conversation, **wanted})
            assert sent["sendMessage"]["__typename"] == "SendMessagePayload", sent
        return conversation

    async def rows(self, sql: str) -> list[tuple[Any, ...]]:
        return [tuple(row) for row in await self.installation.database.fetch(sql, self.installation.team.id)]

    async def until_all_is_answered(self) -> None:
        async with asyncio.timeout(PATIENCE_S):
            while await self.rows(OPEN) != [(0,)] or await self.rows(OWED):  # noqa: ASYNC110
                await asyncio.sleep(0.2)

    async def compare(self, talks: list[str]) -> None:
        """Every process shows the same history: all questions in their order, each answered once. Every agent is given
        all of it, in that order, to answer the last question."""
        for talk in talks:
            views = [await self.run(HISTORY, {"id": talk}, url) for url in self.urls]
            assert all(view == views[0] for view in views)
            nodes = views[0]["conversation"]["messages"]["nodes"]
            assert [one["number"] for one in nodes] == list(range(1, 2 * MESSAGES + 1))
            assert [one["author"] for one in nodes].count("AGENT") == MESSAGES
            asked = [one["text"] for one in nodes if one["author"] == "USER"]
            assert [f"talking {turn}" in text for turn, text in enumerate(asked)] == [True] * MESSAGES
            last = max(one["number"] for one in nodes if one["author"] == "USER")
            before = [one["number"] for one in nodes if one["number"] != last]
            agents = (await self.run(SEEN, {"id": talk}))["agents"]["nodes"]
            assert len(agents) == 3
            for agent in agents:
                seen = agent["contextFor"]
                assert seen["question"] == {"number": last}
                assert [one["number"] for one in seen["history"]] == before[len(seen["condensed"]) :], agent["slug"]

    async def share(self, facts: int) -> None:
        """What is told to one process is recalled by the next question to another."""
        for number in range(facts):
            told, asked = self.urls[number % len(self.urls)], self.urls[(number + 1) % len(self.urls)]
            fact = f"Gate {number} of the harbour opens at {number} o'clock."
            made = await self.run(REMEMBER, {"text": fact}, told)
            assert made["remember"]["__typename"] == "RememberPayload", made
            found = await self.run(RECALL, {"agent": self.agent_id}, asked)
            assert fact in [one["memory"]["text"] for one in found["recallMemories"]]

    @property
    def agent_id(self) -> str:
        return to_global(Prefix.AGENT, self.installation.team.luke.id)


async def kill_in_the_middle(hall: Hall, workers: list[ParleyProcess]) -> None:
    """Each time while something runs, by kill -9; another takes over at once."""
    for _ in range(KILLS):
        async with asyncio.timeout(PATIENCE_S):
            running = "select count(*) from task where team_id = $1 and status = 'in_progress'"
            while await hall.rows(running) == [(0,)]:  # noqa: ASYNC110
                await asyncio.sleep(0.02)
        await asyncio.sleep(random.random() / 3)
        worker = workers.pop(0)
        await asyncio.to_thread(worker.kill)
        worker.launch()
        workers.append(worker)


@pytest.mark.timeout(240)
async def test_every_message_is_answered_once_though_workers_are_killed(installation: Installation) -> None:
    on = (FeatureFlag.AGENT_COLLABORATION, FeatureFlag.EXPERT_GATE, FeatureFlag.ENSEMBLE_MODE)
    async with installation.transaction() as session:
        await teams.set_flags(session, team_id=installation.team.id, changes=dict.fromkeys(on, True), actor=SYSTEM)
        ada = AgentSpec(slug="ada", name="Ada", skills=(SkillSpec(name="talking"),))
        await agents.create(session, team_id=installation.team.id, spec=ada, actor=SYSTEM)
    workers = [installation.another("worker") for _ in range(2)]
    servers = [installation.another("serve") for _ in range(SERVERS - 1)]
    async with httpx.AsyncClient(timeout=30) as client:
        hall = Hall(installation, client, [installation.server.url, *(one.url for one in servers)])
        for worker in workers:
            worker.launch()
        try:
            for server in servers:
                await asyncio.to_thread(server.start)
            async with asyncio.TaskGroup() as group:
                talking = [group.create_task(hall.converse(number)) for number in range(CONVERSATIONS)]
                group.create_task(kill_in_the_middle(hall, workers))
                group.create_task(hall.share(MESSAGES * 3))
            await hall.until_all_is_answered()
            await hall.compare([talk.result() for talk in talking])
        finally:
            for process in (*workers, *servers):
                process.end()

    wrong = {
        "a reply that did not become exactly one message": """
            select reply.id from reply left join message on message.in_reply_to_id = reply.message_id
            where reply.team_id = $1 group by reply.id
            having count(message.id) <> 1 or reply.status <> 'completed'""",
        "a reply that did not end exactly once": """
            select reply.id from reply left join event on event.conversation_id = reply.conversation_id
                and event.kind = 'reply.completed'
                and event.changes->>'replyId' = 'reply_' || replace(reply.id::text, '-', '')
            where reply.team_id = $1 group by reply.id having count(event.id) <> 1""",
        "an answer that came before its turn": """
            select one.id from message one join message other on other.conversation_id = one.conversation_id
            join message asked on asked.id = one.in_reply_to_id join message before on before.id = other.in_reply_to_id
            where one.team_id = $1 and one.number < other.number and asked.number > before.number""",
        "a task without an end, or twice": """
            select task.id from task left join event on event.task_id = task.id and event.kind in
                ('task.completed', 'task.failed', 'task.timed_out', 'task.cancelled')
            where task.team_id = $1 group by task.id having count(event.id) <> 1""",
        "an agent that was asked twice for one reply": """
            select reply_id from contribution where team_id = $1 group by reply_id, agent_id having count(*) > 1""",
        "work that nothing asked for": """
            select task.id from task left join contribution on contribution.task_id = task.id
            where task.team_id = $1 and contribution.id is null""",
        "money that is still reserved": "select id from budget_account where team_id = $1 and reserved <> 0",
        "a follow-up job that is left": OWED,
    }
    assert {what: found for what, sql in wrong.items() if (found := await hall.rows(sql))} == {}
    ensembles = "select count(*) > 0 from contribution where team_id = $1 and place = 2 and status = 'completed'"
    assert await hall.rows(ensembles) == [(True,)]
