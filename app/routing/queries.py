"""Reads a stored decision back into the values of the rules."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from app.db.engine import Database
from app.errors import NotFound
from app.routing.choice import RoutingMode
from app.routing.explain import Decided
from app.routing.models import SCORE_UNITS
from app.routing.policies import WEIGHTS
from app.routing.router import Reason
from app.routing.score import UNITS, Candidate, Score, Signals, Weights
from app.routing.select import Strategy
from app.routing.why_not import LeftOutAgents, WhyNot, why_not

_DECISION = """
select decision.*, policy.skill_match_weight, policy.past_performance_weight, policy.personality_fit_weight,
    policy.load_balance_weight,
    array(
        select agent.name from unnest(decision.selected_agent_ids) with ordinality as chosen(id, at)
        join agent on agent.id = chosen.id order by at
    ) as names,
    array(
        select agent.slug from unnest(decision.selected_agent_ids) with ordinality as chosen(id, at)
        join agent on agent.id = chosen.id order by at
    ) as slugs,
    array(
        select agent.name from agent where agent.id = any(decision.left_out_ids) order by agent.slug
    ) as left_out_names,
    (select array_agg(agent.slug) from agent where agent.id = any(decision.left_out_ids)) as left_out_slugs
from routing_decision as decision join routing_policy as policy on policy.id = decision.policy_id
where decision.team_id = $1 and decision.id = $2
"""
_CANDIDATES = """
select candidate.*, agent.slug, agent.name from routing_candidate as candidate
join agent on agent.id = candidate.agent_id
where candidate.team_id = $1 and candidate.decision_id = $2 order by place
"""


@dataclass(frozen=True)
class StoredDecision:
    decided: Decided
    weights: Weights
    chosen: tuple[str, ...]  # slugs
    scores: tuple[Score, ...]
    left_out: LeftOutAgents | None  # None: not known


async def stored(database: Database, team_id: UUID, decision_id: UUID) -> StoredDecision:
    """Raises NotFound."""
    row = await database.fetchrow(_DECISION, team_id, decision_id)
    if row is None:
        raise NotFound("There is no such routing decision in this team.")
    rows = await database.fetch(_CANDIDATES, team_id, decision_id)
    weights = Weights(*(row[f"{name}_weight"] / UNITS for name in WEIGHTS))
    return StoredDecision(
        _decided(row), weights, tuple(row["slugs"]), tuple(_score(one) for one in rows), _left_out(row)
    )


async def why_not_agent(database: Database, team_id: UUID, decision_id: UUID, agent_id: UUID) -> WhyNot:
    """Why this agent was not chosen; raises NotFound when the team has no such agent."""
    found = "select slug, name, status from agent where team_id = $1 and id = $2"
    agent = await database.fetchrow(found, team_id, agent_id)
    if agent is None:
        raise NotFound("There is no such agent in this team.")
    kept = await stored(database, team_id, decision_id)
    return why_not(kept.decided, kept.weights, kept.scores, chosen=kept.chosen, left_out=kept.left_out, **dict(agent))


def _decided(row: Any) -> Decided:
    return Decided(
        mode=RoutingMode(row["mode"]),
        reason=Reason(row["reason"]),
        strategy=Strategy(row["strategy"]),
        asked_strategy=Strategy(row["asked_strategy"]),
        selected=tuple(row["names"]),
        confidence=row["confidence"] / SCORE_UNITS,
        threshold=row["threshold"] / UNITS,
        skill_floor=row["skill_floor"] / UNITS,
        fallback_used=row["fallback_used"],
        warning=row["warning"],
        tier=row["selected_tier"],
        model=row["selected_model"],
        tier_override_reason=row["tier_override_reason"],
        kept_current=row["selected_agent_id"] is not None and row["selected_agent_id"] == row["current_agent_id"],
        left_out=tuple(row["left_out_names"]),
        default_left_out=row["default_agent_id"] in (row["left_out_ids"] or ()),
    )


def _left_out(row: Any) -> LeftOutAgents | None:
    if row["left_out_ids"] is None:
        return None
    return LeftOutAgents(frozenset(row["left_out_slugs"] or ()), removed=row["conversation_id"] is not None)


def _score(row: Any) -> Score:
    signals = Signals(*(row[name] / UNITS for name in WEIGHTS))
    candidate = Candidate(row["slug"], row["name"], signals, tuple(row["matching_skills"]))
    return Score(candidate, row["overall"] / SCORE_UNITS)
