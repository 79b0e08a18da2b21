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

NEWEST_RATINGS = 1_000  # of one team that are looked through for similar queries
RECENT_TASKS = 10  # of one agent, by which its response time is known
MOST_STARS = 5

_TEAM = """
select team.flags, team.day_budget_usd, team.month_budget_usd, policy.*,
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
where team.id = $1
"""
# Open tasks now, and the mean duration of the attempts at the agent's newest tasks that completed.
_LOADS = f"""
select agent.slug,
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
# The inner product of vectors of length one is their cosine, and that with a vector of zeros is zero, not NaN.
_RATINGS = f"""
select agent.slug, rated.stars, -(decision.embedding <#> $2::text::vector) as cosine, now() - rated.created_at as age
from (
    select agent_id, decision_id, stars, created_at from routing_rating
    where team_id = $1 and created_at > now() - $3::interval
    order by created_at desc limit {NEWEST_RATINGS}
) as rated
join routing_decision as decision on decision.id = rated.decision_id and decision.embedder = $4
join agent on agent.id = rated.agent_id
where -(decision.embedding <#> $2::text::vector) > $5
"""


@dataclass(frozen=True)
class TeamFacts:
    flags: dict[str, bool]
    policy: Any  # the newest version's columns; None when the team has none yet
    left_usd: Decimal  # of the day or the month, whichever has less


async def team_facts(database: Database, team_id: UUID, settings: Settings) -> TeamFacts:
    today: date = now().date()
    row = await database.fetchrow(_TEAM, team_id, today, today.replace(day=1))
    if row is None:
        raise NotFound("This team no longer exists.")
    day = settings.team_day_budget_usd if row["day_budget_usd"] is None else row["day_budget_usd"]
    month = settings.team_month_budget_usd if row["month_budget_usd"] is None else row["month_budget_usd"]
    left = min(day - row["used_today"], month - row["used_this_month"])
    policy = None if row["version"] is None else SimpleNamespace(**dict(row))
    return TeamFacts(orjson.loads(row["flags"]), policy, max(left, Decimal(0)))


async def loads(database: Database, team_id: UUID) -> dict[str, Load]:
    """By slug, of the active agents. Conversations are not kept yet and count as none."""
    rows = await database.fetch(_LOADS, team_id)
    return {row["slug"]: Load(queue_depth=row["queue_depth"], average_response_s=row["response_s"]) for row in rows}


async def similar_ratings(
    database: Database, team_id: UUID, vector: Vectors, calibration: Calibration
) -> dict[str, list[Rating]]:
    """By slug: how answers to similar queries were rated, as far as the same embedder knew them."""
    rows = await database.fetch(
        _RATINGS, team_id, as_text(vector), WINDOW, calibration.embedder, cosine_of_similar(calibration)
    )
    found: dict[str, list[Rating]] = {}
    for row in rows:
        age: timedelta = row["age"]
        rated = Rating(rating_of(row["stars"]), similarity(calibration, row["cosine"]), age)
        found.setdefault(row["slug"], []).append(rated)
    return found


def rating_of(stars: float) -> float:
    """One star is 0, five are 1."""
    return (stars - 1) / (MOST_STARS - 1)


def as_text(vector: Vectors) -> str:
    return "[" + ",".join(map(str, vector.reshape(-1).tolist())) + "]"
