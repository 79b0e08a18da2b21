"""`simulateRouting` over a million decisions of six candidates, beside the best hand-written SQL that we know.

Both answer the same and must find the same: what flips, to whom, the shift of each agent, costs, known ratings and the
newest flips. The hand-written statement has its weights in its text, and runs over two halves on two connections, as
Parley's does: one alone takes twice as long.
"""

from __future__ import annotations

import asyncio
import http.client
import time
from collections import Counter
from collections.abc import Iterable
from datetime import UTC, datetime
from statistics import median
from typing import Any
from uuid import UUID

import asyncpg

from app.routing.score import Weights, units
from benchmarks import decisions
from benchmarks.analytics import COUNT, ask
from benchmarks.reads import HANDWRITTEN, PARLEY
from benchmarks.stage import Stage, python

WEIGHTS = Weights(0.30, 0.25, 0.25, 0.20)
EXAMPLES = 10
TOTALS = ("replayed", "flips", "selectionsChanged", "fallbacksBefore", "fallbacksAfter")
AGENT_FIGURES = ("firstBefore", "firstAfter", "selectedBefore", "selectedAfter")
QUERY = f"""{{
  simulateRouting(
    weights: {{skillMatch: 0.3, pastPerformance: 0.25, personalityFit: 0.25, loadBalance: 0.2}}, examples: {EXAMPLES}
  ) {{
    replayed flips selectionsChanged fallbacksBefore fallbacksAfter
    agents {{ agentId firstBefore firstAfter selectedBefore selectedAfter }}
    cost {{ before after }} ratings {{ kept {{ count mean }} flipped {{ count mean }} newChoice {{ count mean }} }}
    examples {{ routingDecisionId explanation }}
  }}
}}"""
_W = {name: units(value) for name, value in vars(WEIGHTS).items()}
_SCORE = (
    f"(packed >> 49) * {_W['skill_match']} + (packed >> 35 & 16383) * {_W['past_performance']}"
    f" + (packed >> 21 & 16383) * {_W['personality_fit']} + (packed >> 7 & 16383) * {_W['load_balance']}"
)
# Who would be chosen. `offset 0` keeps Postgres from computing it once for every use.
_CHOSEN = f"""
select *, coalesce(first, list[1]) as best, case when cardinality(list) > 1 then list end as several from (
    select id, created_at, selected_agent_id, selected_agent_ids, strategy, asked_strategy, default_agent_id,
        fallback_used, rating, coalesce(actual_cost, estimated_cost) as cost, candidate_ids, candidate_signals,
        case when most = 1 then (
            select candidate_ids[128 - (max((score << 7) + (packed & 127)) & 127)] from (
                select packed, {_SCORE} as score from (select unnest(candidate_signals) as packed) as candidate
                where packed >= skill_floor::bigint << 49 offset 0
            ) as scored where score >= threshold * 10000
        ) end as first,
        case when most > 1 then array(
            select candidate_ids[place] from (
                select place, {_SCORE} as score from (
                    select unnest(candidate_signals) as packed, generate_subscripts(candidate_signals, 1) as place
                ) as candidate where packed >= skill_floor::bigint << 49 offset 0
            ) as scored where score >= threshold * 10000 order by score desc, place limit most
        ) end as list
    from (
        select *, case asked_strategy when 'top_1' then 1 when 'cascade' then 20 else
            case when not ensemble_allowed then 1 when asked_strategy = 'top_k' then k else 20 end end as most
        from routing_decision
        where team_id = $1 and mode = 'gate' and reason <> 'user_mention' and created_at > $2 and created_at <= $3
    ) as decision {{order}} offset 0
) as decision
"""
_MOVES = f"""
select selected_agent_id, coalesce(best, default_agent_id) as after_id, fallback_used, best is null as falls_back,
    case when cardinality(selected_agent_ids) > 1 then selected_agent_ids end as before, several as after,
    strategy <> 'cascade' as all_answered, asked_strategy <> 'cascade' as all_answer, count(*) as decisions,
    sum(cost) as cost, count(rating) as rated, sum(rating) as ratings, count(known) as known,
    sum(known) as known_ratings
from (
    select *, case when best <> selected_agent_id then coalesce(
        case when best = any(selected_agent_ids) then (
            select avg(stars - 1) / 4 from routing_rating
            where routing_rating.decision_id = chosen.id and routing_rating.agent_id = best
        ) end,
        nullif(candidate_signals[array_position(candidate_ids, best)] >> 35 & 16383, 7000)::float8 / 10000
    ) end as known
    from ({_CHOSEN.format(order="")}) as chosen offset 0
) as replayed group by 1, 2, 3, 4, 5, 6, 7, 8
"""
_FLIPS = f"""
select chosen.id from ({_CHOSEN.format(order="order by created_at desc, id desc")}) as chosen
where coalesce(best, default_agent_id) <> selected_agent_id order by created_at desc, id desc limit {EXAMPLES}
"""
_MIDDLE = """
select created_at from routing_decision where team_id = $1 order by created_at desc, id desc offset $2 limit 1
"""
_EVER = (datetime.min.replace(year=1970, tzinfo=UTC), datetime.max.replace(year=2100, tzinfo=UTC))


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
    settings = {"jit": "off", "work_mem": "256MB", "enable_sort": "off"}
    pair = [await asyncpg.connect(stage.postgres.url(), server_settings=settings) for _ in range(2)]
    took: dict[str, list[float]] = {PARLEY: [], HANDWRITTEN: []}
    cpu: dict[str, list[float]] = {PARLEY: [], HANDWRITTEN: []}
    answer: dict[str, Any] = {}
    try:
        for _ in range(rounds + 1):
            started, before = time.perf_counter(), stage.postgres_cpu_s()
            answer = _asked(stage, port)
            took[PARLEY].append(time.perf_counter() - started)
            cpu[PARLEY].append(stage.postgres_cpu_s() - before)
            started, before = time.perf_counter(), stage.postgres_cpu_s()
            by_hand = await _by_hand(pair, stage.seeded.team_id)
            took[HANDWRITTEN].append(time.perf_counter() - started)
            cpu[HANDWRITTEN].append(stage.postgres_cpu_s() - before)
            refuse_different(answer, by_hand)
    finally:
        for connection in pair:
            await connection.close()
    seconds = {name: median(times[1:]) for name, times in took.items()}
    cpu_s = {name: median(times[1:]) for name, times in cpu.items()}
    return {"decisions": answer["replayed"], "flips": answer["flips"], "seconds": seconds, "postgres_cpu_s": cpu_s}


async def _by_hand(pair: list[asyncpg.Connection], team_id: UUID) -> dict[str, Any]:
    """The same answer, from two statements side by side and a third for the newest flips."""
    count = await pair[0].fetchval("select count(*) from routing_decision where team_id = $1", team_id)
    middle = await pair[0].fetchval(_MIDDLE, team_id, count // 2)
    halves = ((_EVER[0], middle), (middle, _EVER[1]))
    found = await asyncio.gather(*(one.fetch(_MOVES, team_id, *half) for one, half in zip(pair, halves, strict=True)))
    examples = await pair[0].fetch(_FLIPS, team_id, *_EVER)
    return _summed([move for half in found for move in half]) | {
        "examples": [f"decision_{row['id'].hex}" for row in examples]
    }


def _summed(moves: list[Any]) -> dict[str, Any]:
    shift: dict[str, Counter[str]] = {name: Counter() for name in AGENT_FIGURES}
    answers: dict[bool, Counter[Any]] = {False: Counter(), True: Counter()}
    cost: Counter[Any] = Counter()
    for move in moves:
        for later in (False, True):
            first = move["after_id"] if later else move["selected_agent_id"]
            chosen = move["after" if later else "before"] or ([first] if first else [])
            everyone = move["all_answer" if later else "all_answered"]
            for place, agent in enumerate(chosen):
                shift["selectedAfter" if later else "selectedBefore"][_named(agent)] += move["decisions"]
                if place == 0:
                    shift["firstAfter" if later else "firstBefore"][_named(agent)] += move["decisions"]
                if place == 0 or everyone:
                    answers[later][agent] += move["decisions"]
                    cost[agent] += 0 if later else move["cost"] / (len(chosen) if everyone else 1)
    return {**_totals(moves), **shift, "cost": _costs(answers[False], answers[True], cost)}


def _totals(moves: list[Any]) -> dict[str, Any]:
    flipped = [move for move in moves if move["selected_agent_id"] != move["after_id"]]
    kept = [move for move in moves if move["selected_agent_id"] == move["after_id"]]
    changed = [*flipped, *(move for move in kept if move["before"] != move["after"])]
    return {
        "replayed": _sum(moves, "decisions"),
        "flips": _sum(flipped, "decisions"),
        "selectionsChanged": _sum(changed, "decisions"),
        "fallbacksBefore": _sum((move for move in moves if move["fallback_used"]), "decisions"),
        "fallbacksAfter": _sum((move for move in moves if move["falls_back"]), "decisions"),
        "kept": _mean(kept, "rated", "ratings"),
        "flipped": _mean(flipped, "rated", "ratings"),
        "newChoice": _mean(flipped, "known", "known_ratings"),
    }


def _sum(moves: Iterable[Any], name: str) -> Any:
    return sum(move[name] or 0 for move in moves)


def _mean(moves: list[Any], count: str, total: str) -> tuple[int, float]:
    return _sum(moves, count), round(_sum(moves, total) / (_sum(moves, count) or 1), 6)


def _costs(before: Counter[Any], after: Counter[Any], cost: Counter[Any]) -> tuple[float, float]:
    """An answer costs what its agent's answers cost on average, and those of a new one the mean of all."""
    whole = sum(cost.values())
    mean = whole / sum(before.values())
    later = sum(count * (cost[agent] / before[agent] if before[agent] else mean) for agent, count in after.items())
    return round(float(whole), 2), round(float(later), 2)


def _named(agent: UUID) -> str:
    return f"agent_{agent.hex}"


def _asked(stage: Stage, port: int) -> Any:
    """Over a connection of its own: the server closes one that idles while a slow statement runs beside it."""
    graph = http.client.HTTPConnection("127.0.0.1", port, timeout=90)
    try:
        return ask(graph, stage.seeded.secret, QUERY)["data"]["simulateRouting"]
    finally:
        graph.close()


def refuse_different(answer: dict[str, Any], by_hand: dict[str, Any]) -> None:
    """A race between different answers says nothing."""
    ratings = {name: (found["count"], round(found["mean"], 6)) for name, found in answer["ratings"].items()}
    ours = {
        **{name: answer[name] for name in TOTALS},
        **ratings,
        **{name: +Counter({one["agentId"]: one[name] for one in answer["agents"]}) for name in AGENT_FIGURES},
        "cost": tuple(round(float(answer["cost"][side]), 2) for side in ("before", "after")),
        "examples": [one["routingDecisionId"] for one in answer["examples"]],
    }
    if different := [name for name in by_hand if by_hand[name] != ours[name]]:
        raise AssertionError(
            f"by hand {[by_hand[one] for one in different]}, Parley {[ours[one] for one in different]}"
        )
