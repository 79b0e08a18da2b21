"""What a decision needs to know besides the team's index: flags, policy, money left, loads and past ratings."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import orjson

from app.clock import now
from app.config import Settings
from app.db.engine import Database
from app.embeddings.embedder import Vectors
from app.errors import NotFound
from app.routing.calibration import Calibration, cosine_of_similar, similarity
from app.routing.load import Load
from app.routing.performance import WINDOW, Rating
from app.routing.team_indexes import STAMP, Stamp, stamp_of

NEWEST_RATINGS = 1_000  # of one team that are looked through for similar queries
RECENT_TASKS = 10  # of one agent, by which its response time is known
NEWEST_CONVERSATIONS = 50  # of one agent, among which those are counted that go on
ACTIVE_CONVERSATION = "1 hour"  # since something was said in it
MOST_STARS = 5

_TEAM = f"""
select team.flags, team.day_budget_usd, team.month_budget_usd, policy.*,
    stamp.agents, stamp.examples, stamp.default_agent_id,
    coalesce((
        select reserved + spent from budget_account as account
        where account.team_id = team.id and kind = 'team_day' and period = $2
    ), 0) as used_today,
    coalesce((
        select reserved + spent from budget_account as account
        where account.team_id = team.id and kind = 'team_month' and period = $3
    ), 0) as used_this_month
from team left join lateral (
    select * from routing_policy where routing_policy.team_id = team.id order by version desc limit 1
) as policy on true
cross join ({STAMP}) as stamp
where team.id = $1
"""
# Conversations that go on, open tasks, and the mean duration of the attempts at the agent's newest completed tasks.
_LOADS = f"""
select agent.slug,
    (
        select count(*) from (
            select conversation_id from conversation_participant as part
            where part.team_id = $1 and part.agent_id = agent.id and part.left_at is null
            order by part.id desc limit {NEWEST_CONVERSATIONS}
        ) as newest
        join conversation on conversation.id = newest.conversation_id
        where conversation.status = 'open' and conversation.updated_at > now() - interval '{ACTIVE_CONVERSATION}'
    ) as conversations,
    (
        select count(*) from task where task.assignee_id = agent.id and status in ('pending', 'in_progress')
    ) as queue_depth,
    coalesce((
        select extract(epoch from avg(attempt.ended_at - attempt.started_at))
        from (
            select id from task where task.team_id = $1 and task.assignee_id = agent.id
            order by id desc limit {RECENT_TASKS}
        ) as recent
        join task_attempt as attempt on attempt.task_id = recent.id and attempt.agent_id = agent.id
        where attempt.outcome = 'completed'
    ), 0)::float8 as response_s
from agent where agent.team_id = $1 and agent.status = 'active'
"""
# The inner product of vectors of length one is their cosine, and that with a vector of zeros is zero, not NaN. Without
# `offset 0` a prepared statement reads the vector's text anew for every rating: seven times as long as all the rest.
_RATINGS = f"""
select agent.slug, rated.stars, -(asked.embedding <#> query.vector) as cosine, now() - rated.created_at as age
from (select $2::text::vector as vector offset 0) as query
cross join (
    select agent_id, decision_id, stars, created_at from routing_rating
    where team_id = $1 and created_at > now() - $3::interval
    order by created_at desc limit {NEWEST_RATINGS}
) as rated
join routing_vector as asked on asked.decision_id = rated.decision_id and asked.embedder = $4
join agent on agent.id = rated.agent_id
where -(asked.embedding <#> query.vector) > $5
"""
# Both in one round trip: a decision needs both, and the work is small beside the way.
_SIGNALS = f"""
select
    (select json_agg(json_build_array(slug, conversations, queue_depth, response_s)) from ({_LOADS}) as load) as loads,
    (
        select json_agg(json_build_array(slug, stars, cosine, extract(epoch from age))) from ({_RATINGS}) as rating
    ) as ratings
"""


@dataclass(frozen=True)
class TeamFacts:
    flags: dict[str, bool]
    policy: Any  # the newest version's columns; None when the team has none yet
    left_usd: Decimal  # of the day or the month, whichever has less
    stamp: Stamp  # of the team's index


async def team_facts(database: Database, team_id: UUID, settings: Settings) -> TeamFacts:
    today: date = now().date()
    row = await database.fetchrow(_TEAM, team_id, today, today.replace(day=1))
    if row is None:
        raise NotFound("This team no longer exists.")
    day = settings.team_day_budget_usd if row["day_budget_usd"] is None else row["day_budget_usd"]
    month = settings.team_month_budget_usd if row["month_budget_usd"] is None else row["month_budget_usd"]
    left = min(day - row["used_today"], month - row["used_this_month"])
    policy = None if row["version"] is None else SimpleNamespace(**dict(row))
    return TeamFacts(orjson.loads(row["flags"]), policy, max(left, Decimal(0)), stamp_of(row))


async def loads(database: Database, team_id: UUID) -> dict[str, Load]:
    """By slug, of the active agents."""
    rows = await database.fetch(_LOADS, team_id)
    return {row["slug"]: Load(row["conversations"], row["queue_depth"], row["response_s"]) for row in rows}


async def signals(
    database: Database, team_id: UUID, vector: str, calibration: Calibration
) -> tuple[dict[str, list[Rating]], dict[str, Load]]:
    """By slug: how answers to similar queries were rated, as far as the same embedder knew them; and the loads."""
    similar = cosine_of_similar(calibration)
    row = await database.fetchrow(_SIGNALS, team_id, vector, WINDOW, calibration.embedder, similar)
    assert row is not None
    found: dict[str, list[Rating]] = {}
    for slug, stars, cosine, age_s in orjson.loads(row["ratings"] or b"[]"):
        rated = Rating(rating_of(stars), similarity(calibration, cosine), timedelta(seconds=age_s))
        found.setdefault(slug, []).append(rated)
    return found, {slug: Load(*counts) for slug, *counts in orjson.loads(row["loads"] or b"[]")}


def rating_of(stars: float) -> float:
    """One star is 0, five are 1."""
    return (stars - 1) / (MOST_STARS - 1)


def as_text(vector: Vectors) -> str:
    """As Postgres reads it."""
    return "[" + ",".join(map(str, vector.reshape(-1).tolist())) + "]"
