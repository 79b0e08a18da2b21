"""Answers `simulateRouting` with hand-written SQL, the best that we know.

The weights are in the text of the statement. It runs over two halves on two connections, as Parley's does: one
connection alone takes twice as long.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import asyncpg

from app.routing.score import Weights, units

WEIGHTS = Weights(0.30, 0.25, 0.25, 0.20)
EXAMPLES = 10
AGENT_FIGURES = ("firstBefore", "firstAfter", "selectedBefore", "selectedAfter")
_UNITS = {name: units(value) for name, value in vars(WEIGHTS).items()}
_SCORE = (
    f"(packed >> 49) * {_UNITS['skill_match']} + (packed >> 35 & 16383) * {_UNITS['past_performance']}"
    f" + (packed >> 21 & 16383) * {_UNITS['personality_fit']} + (packed >> 7 & 16383) * {_UNITS['load_balance']}"
)
# The agents that would be selected. `offset 0` keeps Postgres from computing them once for every use.
_REPLAYED = f"""
select *, coalesce(first, list[1]) as best, case when cardinality(list) > 1 then list end as several from (
    select id, created_at, selected_agent_id, selected_agent_ids, strategy, asked_strategy, default_agent_id,
        fallback_used, rating, coalesce(actual_cost, estimated_cost) as cost, candidate_ids, candidate_signals,
        case when max_agents = 1 then (
            select candidate_ids[128 - (max((score << 7) + (packed & 127)) & 127)] from (
                select packed, {_SCORE} as score from (select unnest(candidate_signals) as packed) as candidate
                where packed >= skill_floor::bigint << 49 offset 0
            ) as scored where score >= threshold * 10000
        ) end as first,
        case when max_agents > 1 then array(
            select candidate_ids[place] from (
                select place, {_SCORE} as score from (
                    select unnest(candidate_signals) as packed, generate_subscripts(candidate_signals, 1) as place
                ) as candidate where packed >= skill_floor::bigint << 49 offset 0
            ) as scored where score >= threshold * 10000 order by score desc, place limit max_agents
        ) end as list
    from (
        select *, case asked_strategy when 'top_1' then 1 when 'cascade' then 20 else
            case when not ensemble_allowed then 1 when asked_strategy = 'top_k' then k else 20 end end as max_agents
        from routing_decision
        where team_id = $1 and mode = 'gate' and reason <> 'user_mention' and created_at > $2 and created_at <= $3
    ) as decision {{order}} offset 0
) as decision
"""
_MOVES = f"""
select selected_agent_id, coalesce(best, default_agent_id) as after_id, fallback_used, best is null as falls_back,
    case when cardinality(selected_agent_ids) > 1 then selected_agent_ids end as before, several as after,
    strategy <> 'cascade' as all_answered, asked_strategy <> 'cascade' as all_answer, count(*) as decisions,
    sum(cost) as cost, count(rating) as rated, sum(rating) as ratings, count(new_rating) as new_rated,
    sum(new_rating) as new_ratings
from (
    select *, case when best <> selected_agent_id then coalesce(
        case when best = any(selected_agent_ids) then (
            select avg(stars - 1) / 4 from routing_rating
            where routing_rating.decision_id = decision.id and routing_rating.agent_id = best
        ) end,
        nullif(candidate_signals[array_position(candidate_ids, best)] >> 35 & 16383, 7000)::float8 / 10000
    ) end as new_rating
    from ({_REPLAYED.format(order="")}) as decision offset 0
) as replayed group by 1, 2, 3, 4, 5, 6, 7, 8
"""
_FLIPS = f"""
select decision.id from ({_REPLAYED.format(order="order by created_at desc, id desc")}) as decision
where coalesce(best, default_agent_id) <> selected_agent_id order by created_at desc, id desc limit {EXAMPLES}
"""
_MIDDLE = """
select created_at from routing_decision where team_id = $1 order by created_at desc, id desc offset $2 limit 1
"""
_ALWAYS = (datetime.min.replace(year=1970, tzinfo=UTC), datetime.max.replace(year=2100, tzinfo=UTC))


async def simulate_by_hand(connections: list[asyncpg.Connection], team_id: UUID) -> dict[str, Any]:
    """Returns the answer, from two statements side by side and a third for the newest flips."""
    count = await connections[0].fetchval("select count(*) from routing_decision where team_id = $1", team_id)
    middle = await connections[0].fetchval(_MIDDLE, team_id, count // 2)
    halves = ((_ALWAYS[0], middle), (middle, _ALWAYS[1]))
    moves = await asyncio.gather(
        *(connection.fetch(_MOVES, team_id, *half) for connection, half in zip(connections, halves, strict=True))
    )
    examples = await connections[0].fetch(_FLIPS, team_id, *_ALWAYS)
    return _sum_moves([move for half in moves for move in half]) | {
        "examples": [f"decision_{row['id'].hex}" for row in examples]
    }


def _sum_moves(moves: list[Any]) -> dict[str, Any]:
    shift: dict[str, Counter[str]] = {name: Counter() for name in AGENT_FIGURES}
    answers: dict[bool, Counter[Any]] = {False: Counter(), True: Counter()}
    cost: Counter[Any] = Counter()
    for move in moves:
        for after in (False, True):
            first = move["after_id"] if after else move["selected_agent_id"]
            selected = move["after" if after else "before"] or ([first] if first else [])
            all_answer = move["all_answer" if after else "all_answered"]
            for place, agent in enumerate(selected):
                shift["selectedAfter" if after else "selectedBefore"][_global_id(agent)] += move["decisions"]
                if place == 0:
                    shift["firstAfter" if after else "firstBefore"][_global_id(agent)] += move["decisions"]
                if place == 0 or all_answer:
                    answers[after][agent] += move["decisions"]
                    cost[agent] += 0 if after else move["cost"] / (len(selected) if all_answer else 1)
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
        "newChoice": _mean(flipped, "new_rated", "new_ratings"),
    }


def _sum(moves: Iterable[Any], name: str) -> Any:
    return sum(move[name] or 0 for move in moves)


def _mean(moves: list[Any], count: str, total: str) -> tuple[int, float]:
    return _sum(moves, count), round(_sum(moves, total) / (_sum(moves, count) or 1), 6)


def _costs(before: Counter[Any], after: Counter[Any], cost: Counter[Any]) -> tuple[float, float]:
    """Prices each answer at the average of its agent, or at the overall average for an agent without answers before."""
    total = sum(cost.values())
    mean = total / sum(before.values())
    after_cost = sum(count * (cost[agent] / before[agent] if before[agent] else mean) for agent, count in after.items())
    return round(float(total), 2), round(float(after_cost), 2)


def _global_id(agent: UUID) -> str:
    return f"agent_{agent.hex}"
