"""Writes millions of routing decisions, each with six candidates, as the rules of routing would make them.

Uses set-based SQL. The same seed gives the same rows, except for their dates. Signals come from a hash of the
decision's number; scores, places and selections are computed as in `app.routing.select`.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import astuple
from uuid import UUID

import asyncpg

from app.embeddings.embedder import DIMENSIONS
from app.routing.score import UNITS, Weights, units
from app.routing.select import Policy

CANDIDATES = 6
AGENTS = 40  # candidates come from these; two neighbours share a topic
DAYS = 90
TOPICS = (
    "code review", "unit tests", "database migration", "login page", "deployment script", "release notes",
    "access rights", "memory leak", "slow query", "error message", "user manual", "data export", "search index",
    "payment form", "backup plan", "style sheet", "mobile layout",
)  # fmt: skip
_PARTS = ("billing", "search", "account", "report", "upload", "invoice", "calendar", "inbox")
_OPENINGS = (
    "Please look at the",
    "Who can help me with the",
    "I need a second opinion on the",
    "There is trouble with the",
)


def write_decisions(database_url: str, team_id: UUID, *, count: int, seed: int = 1) -> float:
    """Writes decisions for a team that has agents. Returns the seconds that it took."""
    return asyncio.run(_write(database_url, team_id, count, seed))


async def _write(database_url: str, team_id: UUID, count: int, seed: int) -> float:
    started = time.perf_counter()
    connection = await asyncpg.connect(database_url)
    try:
        await connection.execute(_SETTINGS)
        indexes = await connection.fetch(_INDEXES)
        for index in indexes:
            await connection.execute(index["drop"])
        await connection.execute(_POOLS, timeout=60)
        await connection.execute(_AGENT_POOL.format(team_id=team_id, agents=AGENTS))
        await connection.execute(_POLICY.format(team_id=team_id, **_policy()))
        for statement in (_SCORED, _SELECTED, _DECISIONS, _VECTORS, _CANDIDATE_ROWS):
            await connection.execute(
                statement.format(team_id=team_id, count=count, seed=seed, **_policy(), **_SIZES), timeout=1_800
            )
        for index in indexes:
            await connection.execute(index["create"], timeout=1_800)
        await connection.execute(
            "vacuum analyze routing_decision, routing_vector, routing_candidate, routing_policy", timeout=600
        )
    finally:
        await connection.close()
    return time.perf_counter() - started


def _policy() -> dict[str, int]:
    policy = Policy()
    names = ("skill_weight", "past_weight", "personality_weight", "load_weight")
    weights = {name: units(weight) for name, weight in zip(names, astuple(Weights()), strict=True)}
    return weights | {"threshold": units(policy.threshold), "skill_floor": units(policy.skill_floor), "k": policy.k}


def _values(texts: tuple[str, ...]) -> str:
    return ", ".join(f"({number}, '{text}')" for number, text in enumerate(texts))


_SIZES = {
    "agents": AGENTS, "candidates": CANDIDATES, "topics": len(TOPICS), "parts": len(_PARTS), "openings": len(_OPENINGS),
    "units": UNITS, "days": DAYS,
}  # fmt: skip
# Turns off the triggers that check foreign keys; they would take longer than everything else.
_SETTINGS = """
set session_replication_role = replica;
set work_mem = '256MB';
set maintenance_work_mem = '512MB';
set max_parallel_maintenance_workers = 2;
"""
# Dropped first and created again over all rows at once. Of unique indexes only the candidates' can be dropped, because
# no foreign key refers to them.
_INDEXES = """
select 'drop index ' || i.relname as drop, pg_get_indexdef(x.indexrelid) as "create"
from pg_index x join pg_class i on i.oid = x.indexrelid
where x.indrelid in ('routing_decision'::regclass, 'routing_candidate'::regclass) and not x.indisunique
union all
select 'alter table routing_candidate drop constraint ' || conname,
    'alter table routing_candidate add constraint ' || conname || ' ' || pg_get_constraintdef(oid)
from pg_constraint where conrelid = 'routing_candidate'::regclass and contype in ('p', 'u')
"""
_POOLS = f"""
create temp table topic as select * from (values {_values(TOPICS)}) as t(number, text);
create temp table part as select * from (values {_values(_PARTS)}) as t(number, text);
create temp table opening as select * from (values {_values(_OPENINGS)}) as t(number, text);
select setseed(0.5);
create temp table vectors as select number,
    (select array_agg(random() - 0.5 + 0 * (d + number)) from generate_series(1, {DIMENSIONS}) as d)::vector as vector
    from generate_series(0, 63) as number;
"""
_AGENT_POOL = """
create temp table pool as
select (row_number() over (order by slug) - 1)::int as number, id, version
from agent where team_id = '{team_id}' and status = 'active' order by slug limit {agents};
analyze pool;
"""
_POLICY = """
insert into routing_policy (id, team_id, version, skill_match_weight, past_performance_weight, personality_fit_weight,
    load_balance_weight, threshold, skill_floor, strategy, k, created_by)
select gen_random_uuid(), '{team_id}', coalesce(max(version), 0) + 1, {skill_weight}, {past_weight},
    {personality_weight}, {load_weight}, {threshold}, {skill_floor}, 'top_1', {k}, 'parley'
from routing_policy where team_id = '{team_id}';
"""
# The two agents in the middle of the six have the skill. Slugs sort in the order of the numbers.
_SCORED = """
create temp table scored as
select n, j, number, skill, past, personality, load,
    skill * {skill_weight} + past * {past_weight} + personality * {personality_weight} + load * {load_weight}
        as overall
from generate_series(1, {count}) as n
cross join lateral (select hashint8extended(n, {seed}) as whole) as decided
cross join lateral (select (abs(whole % {topics}) * 2)::int as base) as about
cross join generate_series(0, {candidates} - 1) as j
cross join lateral (select base + j as number, hashint8extended(n, {seed} + j + 1) as hash) as drawn
cross join lateral (select
    ((hash & 8191) * {units} / 8191) as drawn_skill,
    ((hash >> 13 & 8191) * {units} / 8191)::int as past,
    ((hash >> 26 & 8191) * {units} / 8191)::int as personality,
    ((hash >> 39 & 8191) * {units} / 8191)::int as load) as parts
cross join lateral (select
    (case when j in (2, 3) then {units} / 2 + drawn_skill / 2 else drawn_skill / 2 end)::int as skill) as skills
where number < {agents};
create temp table placed as
select n, j, number, skill, past, personality, load, overall,
    row_number() over (partition by n order by overall desc, skill desc, load desc, j) as place,
    row_number() over (partition by n order by skill desc, load desc, j) as equal,
    overall >= {threshold} * {units} and skill >= {skill_floor} as able
from scored;
drop table scored;
"""
_SELECTED = """
create temp table selection as
select n, overall_default, case when able_count > 0 then
        (array_agg_able)[1:case strategy when 'top_1' then 1 when 'top_k' then {k} else 20 end]
        else array[(select id from pool where number = 0)] end as selected,
    coalesce(best, overall_default, 0) as confidence, able_count = 0 as fallback, strategy, whole, ids, signals
from (
    select n, count(*) filter (where able) as able_count,
        array_agg(pool.id order by place) filter (where able) as array_agg_able,
        max(overall) filter (where able) as best, max(overall) filter (where pool.number = 0) as overall_default,
        array_agg(pool.id order by equal) as ids,
        array_agg((skill::bigint << 49) + (past::bigint << 35) + (personality::bigint << 21) + (load::bigint << 7)
            + 128 - equal order by equal) as signals
    from placed join pool using (number) group by n
) as candidates
cross join lateral (select hashint8extended(n, {seed}) as whole) as decided
cross join lateral (select (array['top_1', 'top_1', 'top_1', 'top_1', 'top_k', 'ensemble', 'cascade'])
    [1 + (whole >> 8 & 1023) % 7] as strategy) as strategies;
create unique index on selection (n);
analyze selection;
"""
_ID = "('0190' || lpad(to_hex({n}), 8, '0') || '70008000' || substr(md5('{seed}' || {n}::text), 1, 12))::uuid"
_DECISIONS = """
insert into routing_decision (id, team_id, created_at, mode, reason, policy_id, asked_strategy, strategy,
    ensemble_allowed, threshold, skill_floor, k, query, embedder, default_agent_id, selected_agent_id,
    selected_agent_ids, candidate_ids, candidate_signals, confidence, fallback_used, complexity, complexity_length,
    complexity_steps, complexity_technical_depth, complexity_reasoning, complexity_constraints, suggested_tier,
    selected_tier, selected_model, estimated_cost, actual_cost, gate_latency_ms, router_latency_ms, response_ms,
    outcome, rating)
select
    __ID__, '{team_id}', now() - interval '{days} days' * ({count} - n) / {count}, 'gate',
    case when fallback then 'default' else 'skill_match' end,
    (select id from routing_policy where team_id = '{team_id}' order by version desc limit 1),
    strategy, strategy, true, {threshold}, {skill_floor}, {k},
    opening.text || ' ' || topic.text || ' of the ' || part.text || ' module, number ' || n % 9973 || '.',
    'benchmark', (select id from pool where number = 0), selected[1], selected, ids, signals,
    confidence, fallback,
    drawn * 3 % 1000, drawn % 1000, drawn * 7 % 1000, drawn * 11 % 1000, drawn * 13 % 1000, drawn * 17 % 1000,
    drawn % 3, drawn % 3, 'model-' || drawn % 3, 0.001 * (drawn % 50), 0.001 * (drawn % 47), 0.5 + drawn % 20 * 0.1,
    1.0 + drawn % 30 * 0.1, 200 + drawn % 3000, case when drawn % 20 = 0 then 'failed' else 'answered' end,
    case when drawn % 3 = 0 then drawn % 5 / 4.0 end
from selection
cross join lateral (select (whole >> 20 & 65535)::int as drawn) as drawn
join topic on topic.number = abs(whole % {topics})
join part on part.number = (whole >> 4 & 1023) % {parts}
join opening on opening.number = (whole >> 12 & 1023) % {openings}
order by n;
""".replace("__ID__", _ID.replace("{n}", "n"))
_VECTORS = """
insert into routing_vector (decision_id, team_id, embedder, embedding)
select __ID__, '{team_id}', 'benchmark', vectors.vector
from selection join vectors on vectors.number = (whole >> 30 & 63) order by n;
""".replace("__ID__", _ID.replace("{n}", "n"))
_CANDIDATE_ROWS = """
insert into routing_candidate (decision_id, agent_id, team_id, agent_version, place, tie_order, selected, skill_match,
    past_performance, personality_fit, load_balance, overall, matching_skills)
select __ID__, pool.id, '{team_id}', pool.version, place, j + 1, pool.id = any(selected), skill, past, personality,
    load, overall, case when j in (2, 3) then array['Skill 0'] else '{{}}' end
from placed join pool using (number) join selection using (n);
drop table placed, selection;
""".replace("__ID__", _ID.replace("{n}", "n"))
