"""Something of everything on the demo team, made through the public API, for pictures of the dashboard."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Any

import httpx

PATIENCE_S = 60.0
QUESTIONS = [
    ("Luke", "Can you review my Python function for race conditions before I merge it?"),
    ("Ada", "Which of our customers left after the last price change, and what did they have in common?"),
    ("Max", "Write three lines for the welcome page that a tired reader understands."),
    ("Chef", "Plan a dinner for twelve, two of them vegan, with what is in season."),
    ("Zara", "What does the research say about retrieval against fine-tuning for small teams?"),
    ("Kyra", "We have eight weeks until the launch. Where do we start?"),
]
TASKS = [
    ("REVIEW", "Review the retry loop", "Read the retry loop of the importer. Say what breaks when answers come late."),
    ("ANALYZE", "Signups by week", "Chart the signups of the last quarter by week and tell what moved them."),
    ("SUMMARIZE", "Notes of the launch meeting", "Condense them into five decisions, each with an owner and a date."),
    ("PLAN", "Move to the new search", "Plan it in steps that can be undone. First measure. Then switch a tenth."),
]  # fmt: skip


@dataclass
class Demo:
    """Calls the API; `ids` are those of pages with one thing on them, by the page's path."""

    client: httpx.AsyncClient
    agents: dict[str, str] = field(default_factory=dict)
    ids: dict[str, str] = field(default_factory=dict)

    async def ask(self, query: str, **variables: Any) -> Any:
        answer = (await self.client.post("/graphql", json={"query": query, "variables": variables})).json()
        assert "errors" not in answer, answer["errors"]
        return answer["data"]

    async def act(self, name: str, chosen: str = "", /, **given: Any) -> Any:
        """One mutation; a refusal fails."""
        kind = name[0].upper() + name[1:]
        query = (
            f"mutation ($input: {kind}Input!) {{ {name}(input: $input) {{ __typename {chosen} "
            "... on Refusal { code message } } }"
        )
        payload = (await self.ask(query, input=given))[name]
        assert "code" not in payload, payload
        return payload

    async def until(self, query: str, done: Any, **variables: Any) -> Any:
        """Ask until `done` of the data holds."""
        async with asyncio.timeout(PATIENCE_S):
            while not done(data := await self.ask(query, **variables)):  # noqa: ASYNC110 - as a client asks
                await asyncio.sleep(0.2)
        return data

    async def make(self) -> None:
        """Conversations, routing, tasks, messages, questions to people, a report, a consultation."""
        found = await self.ask("{ agents(first: 20) { nodes { id name } } }")
        self.agents = {agent["name"]: agent["id"] for agent in found["agents"]["nodes"]}
        self.ids["/agents/:id"] = self.agents["Luke"]
        await self._converse()
        await self._delegate()
        await self._write()
        await self._ask_people()
        await self._report()
        await self._consult()

    async def _converse(self) -> None:
        started = "... on ConversationPayload { conversation { id } }"
        for number, (_, text) in enumerate(QUESTIONS):
            talk = (await self.act("startConversation", started, title=text[:60].rstrip("."), userName="Mira"))[
                "conversation"
            ]
            await self.act("sendMessage", conversationId=talk["id"], text=text)
            if number == 0:
                self.ids["/conversations/:id"] = talk["id"]
        done = "{ conversations(first: 50) { nodes { messages { totalCount } } } }"
        await self.until(
            done, lambda data: all(one["messages"]["totalCount"] > 1 for one in data["conversations"]["nodes"])
        )
        routed = await self.ask("{ routingDecisions(first: 6) { nodes { id } } }")
        decisions = [one["id"] for one in routed["routingDecisions"]["nodes"]]
        self.ids["/routing/:id"] = decisions[0]
        for stars, decision in zip((5, 4, 5, 2), decisions, strict=False):
            await self.act("rateResponse", routingDecisionId=decision, stars=stars)

    async def _delegate(self) -> None:
        names = list(self.agents)
        for number, (kind, title, text) in enumerate(TASKS):
            given = {"creatorId": self.agents["Kyra"], "assigneeId": self.agents[names[1 + number]]}
            made = await self.act(
                "delegateTask", "... on TaskPayload { task { id } }", type=kind, title=title, instructions=text, **given
            )
            self.ids.setdefault("/tasks/:id", made["task"]["id"])

    async def _write(self) -> None:
        send = self.agents["Ada"], self.agents["Luke"]
        body = "The importer retried 40 times last night. Could you look at it before the launch?"
        await self.act(
            "sendAgentMessage",
            fromAgentId=send[0],
            toAgentId=send[1],
            subject="The importer",
            body=body,
            type="REVIEW_REQUEST",
        )
        await self.act(
            "broadcastAgentMessage",
            fromAgentId=send[0],
            body="The figures of the week are in the shared folder.",
            subject="Figures",
        )

    async def _ask_people(self) -> None:
        asked = {
            "question": "The new search costs twice as much per query. Do we ship it to everybody?",
            "options": ["ship it", "wait"],
        }
        await self.act(
            "askPerson", agentId=self.agents["Ada"], context="A tenth of the users have it since Monday.", **asked
        )
        await self.act(
            "askPerson", agentId=self.agents["Max"], question="May I quote the customer by name on the welcome page?"
        )

    async def _report(self) -> None:
        given = {
            "type": "COMPARISON",
            "title": "Which cache?",
            "parameters": {"options": ["Redis", "Valkey"], "criteria": ["speed", "licence"]},
        }
        context = "Both hold the sessions of 40,000 users. Valkey took 0.3 ms at the 95th percentile, Redis 0.4 ms."
        made = await self.act(
            "requestReport",
            "... on ReportPayload { report { id } }",
            context=context,
            assigneeId=self.agents["Ada"],
            **given,
        )
        self.ids["/reports/:id"] = made["report"]["id"]

    async def _consult(self) -> None:
        question = "May the importer retry a payment that timed out?"
        context = {
            "currentTask": "Making imports survive a slow bank.",
            "concern": "A retry may charge a customer twice.",
        }
        asked = await self.act(
            "requestConsultation",
            "... on ConsultationPayload { consultation { id } }",
            requesterId=self.agents["Ada"],
            question=question,
            reason="API_CONTRACT",
            context=context,
        )
        self.ids["/consultations/:id"] = asked["consultation"]["id"]

    async def watch(self) -> str:
        """A session that goes on: one of its workers is a program of its own that has not answered yet."""
        made = "... on AgentPayload { agent { id } }"
        robin = (
            await self.act(
                "createAgent", made, slug="robin", name="Robin", tagline="Your own program", runtime="EXTERNAL"
            )
        )["agent"]["id"]
        seats = [("Kyra", "LEAD"), ("Ada", "WORKER"), ("Zara", "WORKER")]
        participants = [{"agentId": self.agents[name], "role": role} for name, role in seats]
        given = {
            "pattern": "SUPERVISOR_WORKER",
            "goal": "Find out why imports became slow, and what to do about it.",
            "maxDurationSeconds": 3600,
        }
        started = await self.act(
            "startCollaboration",
            "... on CollaborationPayload { collaboration { id } }",
            participants=[*participants, {"agentId": robin, "role": "WORKER"}],
            **given,
        )
        return str(started["collaboration"]["id"])
