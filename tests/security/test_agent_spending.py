"""Whatever agents' keys call, and in whichever order: a team spends and reserves no more than was granted to them."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import httpx
import hypothesis
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import text

from app.agents import service as agents
from app.agents.spec import parse_agent
from app.auth import service as auth
from app.auth.roles import Role
from app.auth.tokens import new_secret
from app.cli.serve import server_config
from app.config import Settings, load_settings
from app.db.engine import Database
from app.db.transaction import Transactions
from app.events.log import SYSTEM
from app.ids import Prefix, new_id, to_global
from tests.fixtures.follow_ups import run_follow_ups
from tests.fixtures.parley import TeamKit, make_team
from tests.fixtures.serving import serving

ALLOWANCE = Decimal("0.05")
FLAGS = json.dumps({"task_delegation": True, "collaboration": True, "agent_collaboration": True})
COSTS = st.sampled_from(["0", "0.01", "0.3", "5", "1000000"])
BUDGETS = st.sampled_from([None, "0.05", "0.2", "30"])
WHO = st.sampled_from(["luke", "kyra"])
STEP = st.one_of(
    st.tuples(st.just("grant"), WHO, st.sampled_from(["0.1", "0.7"])),
    st.tuples(st.sampled_from(["claim", "cancel", "cancel_session"]), WHO),
    st.tuples(st.sampled_from(["heartbeat", "complete", "fail", "submit", "answer"]), WHO, COSTS),
    st.tuples(st.sampled_from(["delegate", "session", "report", "consult", "clarify"]), WHO, BUDGETS, st.booleans()),
)
BEGINNING = [("grant", "luke", "0.7"), ("claim", "luke")]
STEPS = st.lists(STEP, min_size=10, max_size=30).map(lambda steps: [*BEGINNING, *steps])
# Chance seldom gets there: what a task can start, for how much, and what its end leaves going on.
SESSIONS: list[Any] = [
    *BEGINNING, ("session", "luke", "30", True), ("session", "luke", "0.2", True),
    ("submit", "kyra", "5"), ("session", "luke", "0.2", False), ("submit", "kyra", "0.01"),
    ("session", "luke", "0.05", True), ("cancel_session", "luke"), ("session", "luke", "0.05", False),
    ("complete", "luke", "0.3"), ("submit", "kyra", "0.3"), ("session", "luke", "0.05", False),
    ("submit", "kyra", "1000000"), ("session", "luke", "30", False),
]  # fmt: skip
CONSULTATIONS: list[Any] = [
    *BEGINNING, ("consult", "luke", "30", True), ("consult", "luke", "0.2", True),
    ("answer", "kyra", "0.01"), ("clarify", "luke", None, True), ("answer", "kyra", "5"),
    ("consult", "luke", "0.2", False), ("complete", "luke", "1000000"), ("answer", "kyra", "0.01"),
    ("clarify", "luke", None, False), ("consult", "luke", "0.05", False), ("answer", "kyra", "0.3"),
]  # fmt: skip
# The first version of a report costs nearly all of it, then its task ends with all of its own: nothing is left.
REPORTS: list[Any] = [
    *BEGINNING, ("report", "luke", "30", True), ("report", "luke", "0.2", True),
    ("claim", "kyra"), ("complete", "luke", "0.5"), ("complete", "kyra", "0.19"), ("claim", "kyra"),
    ("complete", "kyra", "5"), ("report", "luke", "30", False), ("report", "luke", "0.05", False), ("claim", "kyra"),
    ("complete", "kyra", "0.04"), ("claim", "kyra"), ("complete", "kyra", "1000000"),
]  # fmt: skip
DELEGATIONS: list[Any] = [
    *BEGINNING, ("delegate", "luke", "30", True), ("delegate", "luke", "30", False),
    ("delegate", "luke", "0.2", False), ("claim", "kyra"), ("consult", "kyra", "30", False),
    ("consult", "kyra", "0.05", False), ("heartbeat", "kyra", "0.01"), ("fail", "kyra", "0.02"), ("claim", "kyra"),
    ("heartbeat", "luke", "0.01"), ("complete", "luke", "5"),
    ("delegate", "luke", "30", False), ("delegate", "luke", "0.05", False), ("cancel", "luke"),
]  # fmt: skip
# What goes on after the task that an allowance paid for still counts for that allowance.
ALLOWANCES: list[Any] = [
    *BEGINNING, ("complete", "luke", "1000000"), ("delegate", "luke", "0.05", False), ("claim", "kyra"),
    ("report", "kyra", "0.04", True), ("complete", "kyra", "0.01"), ("delegate", "luke", "0.04", False),
    ("claim", "kyra"), ("consult", "kyra", "0.03", True), ("complete", "kyra", "0.01"),
    ("delegate", "luke", "0.03", False), ("session", "kyra", "0.05", False), ("complete", "kyra", "0"),
    ("delegate", "kyra", "0.05", False),
]  # fmt: skip
TOTALS = """
select kind, sum(spent + reserved) from budget_account where team_id = $1 and kind in ('team_day', 'team_month')
group by kind
"""
# Open accounts whose reservations are not the sum of what they fund, and accounts that spent more than they hold.
UNSOUND = """
select account.kind, account.cap, account.reserved, account.spent, funded.held from budget_account as account
cross join lateral (
    select coalesce(sum(held), 0) as held from budget_account where parent_id = account.id and closed_at is null
        and kind <> 'team_day'
) as funded
where account.team_id = $1 and account.kind <> 'team_month'
    and (account.reserved <> funded.held or account.spent + account.reserved > account.cap)
"""
CLAIMED = "select count(*) from task where claimed_cost > 0 and team_id = $1"
Input = dict[str, Any]


@dataclass
class Play:
    """A team of its own, the keys of two external agents, and what they know."""

    client: httpx.AsyncClient
    transaction: Transactions
    settings: Settings
    team: TeamKit
    ada: str  # who delegates what is granted
    secrets: dict[str, str]
    succeeded: Counter[str]
    granted: Decimal = 2 * ALLOWANCE
    claims: dict[str, list[tuple[str, str]]] = field(default_factory=lambda: {"luke": [], "kyra": []})
    sessions: list[str] = field(default_factory=list)
    consultations: list[str] = field(default_factory=list)
    tasks: list[str] = field(default_factory=list)

    def agent(self, slug: str) -> str:
        return to_global(Prefix.AGENT, {"luke": self.team.luke, "kyra": self.team.kyra}[slug].id)

    def other(self, slug: str) -> str:
        return self.agent("kyra" if slug == "luke" else "luke")

    async def call(self, who: str, name: str, fields: str, **input: Any) -> Any:
        """The payload, or None when it was refused."""
        kind = name[0].upper() + name[1:]
        query = f"mutation ($input: {kind}Input!) {{ {name}(input: $input) {{ __typename {fields} }} }}"
        body = {
            "query": query,
            "variables": {"input": {key: value for key, value in input.items() if value is not None}},
        }
        secret = self.secrets[who]
        answer = (await self.client.post("/graphql", json=body, headers={"Authorization": f"Bearer {secret}"})).json()
        assert "errors" not in answer, answer["errors"]
        payload = answer["data"][name]
        done = payload["__typename"].endswith("Payload")
        self.succeeded[name] += done
        return payload if done else None

    def parent(self, who: str, named: bool) -> Input:
        task, token = self.claims[who][-1] if named and self.claims[who] else (None, None)
        return {"parentId": task, "claimToken": token}

    async def grant(self, who: str, budget: str) -> None:
        made = await self.call(
            "admin", "delegateTask", "... on TaskPayload { task { id } }",
            type="RESEARCH", title="Granted", instructions="Do it.", assigneeId=self.agent(who),
            creatorId=self.ada, budgetUsd=budget,
        )  # fmt: skip
        self.granted += Decimal(budget) if made else 0

    async def claim(self, who: str) -> None:
        made = await self.call(who, "claimTask", "... on ClaimTaskPayload { claimToken task { id } }")
        if made and made["task"]:
            self.claims[who].append((made["task"]["id"], made["claimToken"]))

    async def heartbeat(self, who: str, cost: str, mutation: str = "heartbeatTask", **more: Any) -> None:
        if self.claims[who]:
            task, token = self.claims[who][-1]
            fields = "... on TaskPayload { task { claimedCost } }"
            await self.call(who, mutation, fields, taskId=task, claimToken=token, costUsd=cost, **more)

    async def complete(self, who: str, cost: str) -> None:
        output = {"answer": "Yes.", "choice": "yes", "reason": "It is so."}
        await self.heartbeat(who, cost, "completeTask", result="Not a report.", output=output)

    async def fail(self, who: str, cost: str) -> None:
        await self.heartbeat(who, cost, "failTask", message="It broke.", mayPass=True)

    async def delegate(self, who: str, budget: str | None, named: bool) -> None:
        made = await self.call(
            who, "delegateTask", "... on TaskPayload { task { id } }", type="RESEARCH", title="More",
            instructions=f"Do {new_id()}.", assigneeId=self.other(who), budgetUsd=budget, **self.parent(who, named),
        )  # fmt: skip
        self.tasks += [made["task"]["id"]] if made else []

    async def session(self, who: str, budget: str | None, named: bool) -> None:
        seats = [
            {"agentId": self.agent(who), "role": "LEAD"},
            {"agentId": self.other(who), "role": "WORKER"},
        ]
        made = await self.call(
            who, "startCollaboration", "... on CollaborationPayload { collaboration { id } }", pattern="DELEGATION",
            goal=f"Reach {new_id()}.", participants=seats, maxCostUsd=budget, **self.parent(who, named),
        )  # fmt: skip
        self.sessions += [made["collaboration"]["id"]] if made else []

    async def report(self, who: str, budget: str | None, named: bool) -> None:
        await self.call(
            who, "requestReport", "... on ReportPayload { report { id } }", type="RESEARCH_SUMMARY", title="Sum up",
            parameters={"topic": f"{new_id()}"}, assigneeId=self.other(who), budgetUsd=budget,
            **self.parent(who, named),
        )  # fmt: skip

    async def consult(self, who: str, budget: str | None, named: bool) -> None:
        task = self.parent(who, named)["parentId"]
        made = await self.call(
            who, "requestConsultation", "... on ConsultationPayload { consultation { id } }",
            question=f"How does talking about number {len(self.consultations)} go?", budgetUsd=budget, taskId=task,
        )  # fmt: skip
        self.consultations += [made["consultation"]["id"]] if made else []

    async def clarify(self, who: str, budget: str | None, named: bool) -> None:
        if self.consultations:
            fields = "... on ConsultationPayload { consultation { id } }"
            about = {"consultationId": self.consultations[-1], "taskId": self.parent(who, named)["parentId"]}
            await self.call(who, "clarifyConsultation", fields, text=f"And {new_id()}?", **about)

    async def answer(self, who: str, cost: str) -> None:
        if self.consultations:
            fields = "... on ConsultationPayload { consultation { id } }"
            about = {"consultationId": self.consultations[-1], "costUsd": cost}
            await self.call(who, "answerConsultation", fields, answer="Well.", **about)

    async def submit(self, who: str, cost: str) -> None:
        if self.sessions:
            fields = "... on StageOutputPayload { stage { id } }"
            about = {"collaborationId": self.sessions[-1], "costUsd": cost}
            await self.call(who, "submitStageOutput", fields, result="Done.", **about)

    async def cancel(self, who: str) -> None:
        if self.tasks:
            await self.call(who, "cancelTask", "... on TaskPayload { task { id } }", taskId=self.tasks[-1])

    async def cancel_session(self, who: str) -> None:
        if self.sessions:
            fields = "... on CollaborationPayload { collaboration { id } }"
            await self.call(who, "cancelCollaboration", fields, collaborationId=self.sessions[-1])

    async def follow_up(self) -> None:
        await run_follow_ups(self.transaction, self.settings)


@pytest.mark.timeout(300)
def test_no_sequence_of_calls_spends_more_than_was_granted(database_url: str, redis_url: str) -> None:
    settings = load_settings(
        DATABASE_URL=database_url, REDIS_URL=redis_url, port=0, log_level="error", rate_limit_points=10_000_000,
        agent_day_allowance_usd=ALLOWANCE,
    )  # fmt: skip
    succeeded: Counter[str] = Counter()
    with asyncio.Runner() as runner:
        server = _serve(settings)
        database, client = runner.run(anext(server))

        @hypothesis.settings(
            max_examples=40,
            deadline=None,
            database=None,
            phases=[hypothesis.Phase.explicit, hypothesis.Phase.generate],
        )
        @hypothesis.example(SESSIONS)
        @hypothesis.example(CONSULTATIONS)
        @hypothesis.example(REPORTS)
        @hypothesis.example(DELEGATIONS)
        @hypothesis.example(ALLOWANCES)
        @given(STEPS)
        def play(steps: list[Any]) -> None:
            runner.run(_play(database, client, settings, steps, succeeded))

        play()
        runner.run(server.aclose())

    unreached = {
        "delegateTask", "claimTask", "heartbeatTask", "completeTask", "failTask", "startCollaboration", "requestReport",
        "requestConsultation", "clarifyConsultation", "answerConsultation", "submitStageOutput", "cancelTask",
        "cancelCollaboration", "claimed",
    } - {name for name, count in succeeded.items() if count}  # fmt: skip
    assert not unreached


async def _serve(settings: Settings) -> AsyncIterator[tuple[Database, httpx.AsyncClient]]:
    database = Database(settings)
    async with serving(server_config(settings)) as url, httpx.AsyncClient(base_url=url, timeout=30) as client:
        yield database, client
    await database.close()


async def _play(
    database: Database, client: httpx.AsyncClient, settings: Settings, steps: list[Any], succeeded: Counter[str]
) -> None:
    async with _team(database, client, settings, succeeded) as play:
        for name, who, *rest in steps:
            await getattr(play, name)(who, *rest)
            await play.follow_up()
            totals = {row["kind"]: row["sum"] for row in await database.fetch(TOTALS, play.team.id)}
            assert all(total <= play.granted for total in totals.values()), (name, who, rest, totals, play.granted)
            assert not await database.fetch(UNSOUND, play.team.id), (name, who, rest)
        claimed = await database.fetchval(
            "select count(*) from task where claimed_cost > 0 and team_id = $1", play.team.id
        )
        succeeded["claimed"] += claimed


@asynccontextmanager
async def _team(
    database: Database, client: httpx.AsyncClient, settings: Settings, succeeded: Counter[str]
) -> AsyncIterator[Play]:
    transaction = Transactions(database, _silent)
    team = await make_team(transaction, f"team-{new_id().hex}")
    secrets = {"admin": team.secrets[Role.ADMIN], "luke": team.secrets[Role.AGENT], "kyra": new_secret()}
    async with transaction() as session:
        spec = parse_agent({"slug": "ada", "name": "Ada"})
        ada = await agents.create(session, team_id=team.id, spec=spec, actor=SYSTEM)
        await auth.issue(
            session, team_id=team.id, name="kyra's key", role=Role.AGENT, secret=secrets["kyra"], actor=SYSTEM,
            agent_id=team.kyra.id,
        )  # fmt: skip
        await session.execute(text(f"update team set flags = '{FLAGS}' where id = :id"), {"id": team.id})
        await session.execute(text("update agent set runtime = 'external' where team_id = :id"), {"id": team.id})
    yield Play(client, transaction, settings, team, to_global(Prefix.AGENT, ada.id), secrets, succeeded)


async def _silent(bells: list[Any]) -> None:
    """What is due is done by `follow_up`."""
