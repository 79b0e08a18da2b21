"""`simulateRouting` over a million decisions of six candidates, beside the best hand-written statements we know.

Those answer less: first choices before and after, and how often. One reads the candidates' rows, which Postgres may do
with parallel workers, one the packed candidates that Parley reads. All must find the same.
"""

from __future__ import annotations

import asyncio
import http.client
import time
from collections import Counter
from statistics import median
from typing import Any

import asyncpg

from app.routing.score import Weights, units
from benchmarks import decisions
from benchmarks.analytics import COUNT, ask
from benchmarks.reads import PARLEY
from benchmarks.stage import Stage, python

BY_ROWS, BY_NUMBERS = "SQL over rows", "SQL over packed"
WEIGHTS = Weights(0.30, 0.25, 0.25, 0.20)
QUERY = """{
  simulateRouting(weights: {skillMatch: 0.3, pastPerformance: 0.25, personalityFit: 0.25, loadBalance: 0.2}) {
  replayed flips selectionsChanged fallbacksAfter agents { agentId firstBefore firstAfter }
  cost { before after } ratings { kept { mean } newChoice { mean } } examples { explanation }
} }"""
_W = {name: units(value) for name, value in vars(WEIGHTS).items()}
_OVERALL = " + ".join(f"{name} * {weight}" for name, weight in _W.items())
# The winner's place in the slugs' order is the last digit of the largest number.
_ROWS = f"""
select selected_agent_id, after, count(*) from (
    select selected_agent_id, coalesce(winner.agent_id, default_agent_id) as after
    from routing_decision as decision
    join (
        select decision_id, max(((({_OVERALL})::bigint * 10001 + skill_match) * 10001 + load_balance) * 64
            + 63 - tie_order) filter (where {_OVERALL} >= decision.threshold * 10000
            and skill_match >= decision.skill_floor) as best
        from routing_candidate join routing_decision as decision on decision.id = decision_id
        where decision.team_id = $1 group by decision_id
    ) as found on found.decision_id = decision.id
    left join routing_candidate as winner
        on winner.decision_id = decision.id and winner.tie_order = 63 - (found.best & 63)
    where decision.team_id = $1
) as moved group by 1, 2
"""
_NUMBERS = f"""
select selected_agent_id, coalesce(first, default_agent_id), count(*) from (
    select selected_agent_id, default_agent_id, (
        select candidate_ids[128 - (max((score << 7) + (packed & 127)) & 127)] from (
            select packed, (packed >> 49) * {_W["skill_match"]} + (packed >> 35 & 16383) * {_W["past_performance"]}
                + (packed >> 21 & 16383) * {_W["personality_fit"]} + (packed >> 7 & 16383) * {_W["load_balance"]}
                as score
            from (select unnest(candidate_signals) as packed) as candidate
            where packed >= skill_floor::bigint << 49 offset 0
        ) as scored where score >= threshold * 10000
    ) as first
    from routing_decision where team_id = $1 offset 0
) as moved group by 1, 2
"""


def measure(stage: Stage, *, rounds: int, count: int = COUNT) -> dict[str, Any]:
    if not asyncio.run(_has_decisions(stage)):
        decisions.write(stage.postgres.url(), stage.seeded.team_id, count=count)
    server = stage.serve(PARLEY, python("app.cli", "serve"), PARLEY_STATEMENT_TIMEOUT_MS="60000",
                         PARLEY_OPERATION_TIMEOUT_S="90")  # fmt: skip
    try:
        return {"rounds": rounds, **asyncio.run(_measure(stage, server.port, rounds))}
    finally:
        stage.stop(server)


async def _has_decisions(stage: Stage) -> bool:
    connection = await asyncpg.connect(stage.postgres.url())
    found: bool = await connection.fetchval("select exists (select from routing_decision)")
    await connection.close()
    return found


async def _measure(stage: Stage, port: int, rounds: int) -> dict[str, Any]:
    connection = await asyncpg.connect(stage.postgres.url(), server_settings={"jit": "off", "work_mem": "256MB"})
    took: dict[str, list[float]] = {PARLEY: [], BY_ROWS: [], BY_NUMBERS: []}
    answer: dict[str, Any] = {}
    try:
        for _ in range(rounds + 1):
            started = time.perf_counter()
            answer = _asked(stage, port)
            took[PARLEY].append(time.perf_counter() - started)
            for name, sql in ((BY_ROWS, _ROWS), (BY_NUMBERS, _NUMBERS)):
                started = time.perf_counter()
                rows = await connection.fetch(sql, stage.seeded.team_id)
                took[name].append(time.perf_counter() - started)
                refuse_different(name, answer, rows)
    finally:
        await connection.close()
    seconds = {name: median(times[1:]) for name, times in took.items()}
    return {"decisions": answer["replayed"], "flips": answer["flips"], "seconds": seconds}


def _asked(stage: Stage, port: int) -> Any:
    """Over a connection of its own: the server closes one that idles while a slow statement runs beside it."""
    graph = http.client.HTTPConnection("127.0.0.1", port, timeout=90)
    try:
        return ask(graph, stage.seeded.secret, QUERY)["data"]["simulateRouting"]
    finally:
        graph.close()


def refuse_different(name: str, answer: dict[str, Any], rows: list[Any]) -> None:
    """A race between different answers says nothing."""
    after: Counter[str] = Counter()
    for _, agent_id, count in rows:
        after[f"agent_{agent_id.hex}"] += count
    flips = sum(count for before, agent_id, count in rows if before != agent_id)
    theirs = +Counter({agent["agentId"]: agent["firstAfter"] for agent in answer["agents"]})
    if (flips, +after) != (answer["flips"], theirs) or not flips:
        raise AssertionError(f"{name} finds {flips} flips, Parley {answer['flips']}")
