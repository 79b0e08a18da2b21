"""`simulateRouting` as a client sees it: what changes, what is refused, and nothing runs for a client that left."""

from __future__ import annotations

import asyncio
import random
from dataclasses import replace
from typing import Any

import asyncpg
import pytest
from sqlalchemy import update

from app.auth.roles import Role
from app.ids import Prefix, new_id, to_global
from app.routing.models import RoutingDecision
from app.routing.score import Candidate, Signals, Weights
from app.routing.select import Policy
from graphql_schema.routing.simulation import COST
from tests.fixtures.decisions import Decisions
from tests.fixtures.parley import Parley
from tests.fixtures.streams import Connect

KYRA = Candidate("kyra", "Kyra", Signals(0.9, 0.8, 0.5, 0.2))
LUKE = Candidate("luke", "Luke", Signals(0.7, 0.9, 0.5, 0.9))
FREE = "weights: {skillMatch: 0.1, pastPerformance: 0.1, personalityFit: 0.1, loadBalance: 0.7}"
ALL = """{ simulateRouting(%s) {
  replayed capped flips flipShare selectionsChanged fallbacksBefore fallbacksAfter leftOut { reason decisions }
  agents { agentId slug name firstBefore firstAfter net selectedBefore selectedAfter answerCost }
  cost { before after } ratings { kept { count mean } flipped { count mean } newChoice { count mean } }
  examples { routingDecisionId query cause signal difference explanation
    before { slug fallback scoreBefore scoreAfter signals { skillMatch } } after { slug scoreBefore scoreAfter } }
} }"""


async def add_decisions(parley: Parley) -> Decisions:
    async with parley.transaction() as session:
        decisions = Decisions(session, parley.home.id, random.Random(0))
        decisions.ids = {"kyra": parley.home.kyra.id, "luke": parley.home.luke.id}
        policy = Policy(weights=Weights(0.7, 0.1, 0.1, 0.1), threshold=0.3)
        for _ in range(3):
            await decisions.add([KYRA, LUKE], policy, "kyra", rating=0.5)
        await decisions.add([LUKE], replace(policy, threshold=0.9), "kyra")
    return decisions


async def test_analyst_sees_what_other_weights_would_change(parley: Parley) -> None:
    decisions = await add_decisions(parley)
    luke = to_global(Prefix.AGENT, parley.home.luke.id)

    asked = f'{FREE}, where: {{query: {{ne: "question 1"}}, fallbackUsed: {{eq: false}}}}, examples: 1'
    found = (await parley.run(ALL % asked, role=Role.ANALYST))["simulateRouting"]
    same = (await parley.run(ALL % "examples: 50", role=Role.ANALYST))["simulateRouting"]
    elsewhere = await parley.run(ALL % FREE, secret=parley.other.secrets[Role.ANALYST])

    assert (found["replayed"], found["flips"], found["flipShare"], found["capped"]) == (2, 2, 1.0, False)
    assert found["agents"][1] == {
        "agentId": luke, "slug": "luke", "name": "Luke", "firstBefore": 0, "firstAfter": 2, "net": 2,
        "selectedBefore": 0, "selectedAfter": 2, "answerCost": None,
    }  # fmt: skip
    assert found["cost"] == {"before": 0.02, "after": 0.02}
    assert found["ratings"] == {
        "kept": {"count": 0, "mean": None},
        "flipped": {"count": 2, "mean": 0.5},
        "newChoice": {"count": 2, "mean": 0.9},
    }
    assert found["examples"] == [
        {
            "routingDecisionId": to_global(Prefix.ROUTING_DECISION, decisions.made[2].id), "query": "question 3",
            "cause": "WEIGHTS", "signal": "LOAD_BALANCE", "difference": 0.42,
            "explanation": "Luke instead of Kyra: load balance made the difference, by 0.42.",
            "before": {
                "slug": "kyra", "fallback": False, "scoreBefore": 0.78, "scoreAfter": 0.36,
                "signals": {"skillMatch": 0.9},
            },
            "after": {"slug": "luke", "scoreBefore": 0.72, "scoreAfter": 0.84},
        }
    ]  # fmt: skip
    assert (same["replayed"], same["flips"], same["examples"]) == (4, 0, [])
    assert (same["fallbacksBefore"], same["fallbacksAfter"]) == (1, 1)
    assert elsewhere["simulateRouting"]["replayed"] == 0


async def test_agents_key_replays_only_decisions_that_it_reads(parley: Parley) -> None:
    decisions = await add_decisions(parley)
    async with parley.transaction() as session:
        of_others = update(RoutingDecision).where(RoutingDecision.id == decisions.made[0].id)
        await session.execute(of_others.values(conversation_id=new_id()))

    whole = (await parley.run(ALL % FREE, role=Role.AGENT))["simulateRouting"]
    filtered = (await parley.run(ALL % f"{FREE}, where: {{}}", role=Role.AGENT))["simulateRouting"]

    assert [one["query"] for one in whole["examples"]] == ["question 3", "question 2"]
    assert whole["replayed"] == 3
    assert filtered == whole


@pytest.mark.parametrize(
    ("asked", "code", "said"),
    [
        (FREE.replace("0.7", "0.8"), "INVALID_INPUT", "weights: must sum to 1"),
        (FREE.replace("skillMatch: 0.1", "skillMatch: -1"), "INVALID_INPUT", "weights.skillMatch: must be a number"),
        (FREE.replace("0.7", "1e999"), "INVALID_INPUT", "weights.loadBalance: must be a number from 0 to 1"),
        (FREE.replace("0.7", "NaN"), "GRAPHQL_VALIDATION_FAILED", "Float cannot represent non numeric value: NaN"),
        ("skillFloor: 1.01", "INVALID_INPUT", "skillFloor: must be a number"),
        ("threshold: 1.01", "INVALID_INPUT", "threshold"),
        ("k: 21", "INVALID_INPUT", "k: must be 1 to 20"),
        ("examples: 51", "INVALID_INPUT", "examples: must be 0 to 50"),
        ('where: {selectedAgentId: {eq: "x"}}', "INVALID_INPUT", "selectedAgentId: 'x' is not an id"),
        ("where: " + "{not: " * 12 + "{}" + "}" * 12, "INVALID_ARGUMENT", "nested"),
    ],
)
async def test_nonsense_is_refused(parley: Parley, asked: str, code: str, said: str) -> None:
    [error] = await parley.errors(ALL % asked)

    assert error["extensions"]["code"] == code
    assert said in error["message"]
    for problem in error["extensions"].get("problems", []):
        assert error["message"] == f"{problem['path']}: {problem['message']}"


async def test_one_operation_holds_one_simulation(parley: Parley) -> None:
    [error] = await parley.errors("{ a: simulateRouting { flips } b: simulateRouting { flips } }")

    assert (error["extensions"]["code"], error["extensions"]["value"]) == ("COST_LIMIT_EXCEEDED", 2 * COST)
    assert error["message"].startswith("This operation costs 12000 points")  # not rows: it has none


async def until_running(watch: asyncpg.Connection[Any], count: int) -> None:
    """Wait until so many replays run in this database."""
    running = """
        select count(*) from pg_stat_activity
        where datname = current_database() and state = 'active' and query like '%routing_decision as decision%'
            and pid <> pg_backend_pid()
    """
    async with asyncio.timeout(8):
        while await watch.fetchval(running) != count:  # noqa: ASYNC110  Postgres rings no bell for it
            await asyncio.sleep(0.01)


@pytest.mark.parametrize("way", ["http", "websocket"])
async def test_replay_ends_when_its_client_leaves(parley: Parley, connect: Connect, way: str) -> None:
    watch = await asyncpg.connect(parley.settings.database_url)
    holder = await asyncpg.connect(parley.settings.database_url)
    async with holder.transaction():
        await holder.execute("lock table routing_decision in access exclusive mode")  # so that the replay takes long
        if way == "http":
            asking = asyncio.create_task(parley.post(ALL % FREE))
            await until_running(watch, 1)
            asking.cancel()
            await until_running(watch, 0)
        else:
            async with connect() as socket:
                await socket.subscribe(ALL % FREE)
                await until_running(watch, 1)
                await socket.send({"id": "1", "type": "complete"})
                await until_running(watch, 0)
    await holder.close()
    await watch.close()

    assert (await parley.run(ALL % FREE))["simulateRouting"]["replayed"] == 0
