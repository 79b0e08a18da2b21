"""Writes a decision with its query's vector and all its candidates in one statement: every message waits for it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import orjson
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncSession

from app.auth import at_once
from app.auth.at_once import Write
from app.events.kinds import EventKind
from app.events.log import Actor, append, told
from app.routing.choice import Choice
from app.routing.models import SCORE_UNITS
from app.routing.policies import WEIGHTS
from app.routing.score import units
from app.routing.team_indexes import KnownTeam

DECISION = (
    "id", "team_id", "mode", "reason", "policy_id", "asked_strategy", "strategy", "ensemble_allowed", "threshold",
    "skill_floor", "k", "query", "embedder", "conversation_id", "message_id", "current_agent_id", "default_agent_id",
    "selected_agent_id", "selected_agent_ids", "left_out_ids", "candidate_ids", "candidate_signals", "confidence",
    "fallback_used", "warning", "complexity", "complexity_length", "complexity_steps", "complexity_technical_depth",
    "complexity_reasoning", "complexity_constraints", "suggested_tier", "selected_tier", "selected_model",
    "tier_override_reason", "estimated_cost", "gate_latency_ms", "router_latency_ms",
)  # fmt: skip
# Of a candidate besides its place, which is that in the lists. Skills are a list of their own, and so come as JSON.
CANDIDATE = {
    "agent_id": "uuid", "agent_version": "integer", "tie_order": "smallint", "selected": "boolean",
    **dict.fromkeys(WEIGHTS, "smallint"), "overall": "integer", "matching_skills": "text",
}  # fmt: skip
_LISTS = [f"each_{name}" for name in CANDIDATE]
_VALUES = (*DECISION, "vector", *_LISTS)


def _writes(bound: Callable[[str], str]) -> str:
    """Common table expressions that write where `first` has a row. `bound` gives the parameter of a value."""
    lists = (f"cast({bound(name)} as {kind}[])" for name, kind in zip(_LISTS, CANDIDATE.values(), strict=True))
    return f"""
decision as (
    insert into routing_decision ({", ".join(DECISION)}) select {", ".join(map(bound, DECISION))} from first
), asked as (
    insert into routing_vector (decision_id, team_id, embedder, embedding)
    select {bound("id")}, {bound("team_id")}, {bound("embedder")}, cast(cast({bound("vector")} as text) as vector)
    from first
), scored as (
    insert into routing_candidate (decision_id, team_id, place, {", ".join(CANDIDATE)})
    select {bound("id")}, {bound("team_id")}, place, {", ".join(list(CANDIDATE)[:-1])},
        case when matching_skills = '[]' then '{{}}'
            else array(select json_array_elements_text(cast(matching_skills as json))) end
    from first cross join unnest({", ".join(lists)})
        with ordinality as candidate({", ".join(CANDIDATE)}, place)
)
"""


_IN_TRANSACTION = text(f"with first as (select), {_writes(':{}'.format)} select")
_AT_ONCE = at_once.statement(_writes(lambda name: f"${at_once.OWN + _VALUES.index(name)}"))


@dataclass(frozen=True)
class Draft:
    """A decision that is made and not yet written: its columns, its query's vector as Postgres reads it, the columns of
    its candidates as lists, best candidate first, and what its event tells."""

    decision: dict[str, Any]
    vector: str
    candidates: dict[str, list[Any]]
    told: dict[str, Any]

    @property
    def id(self) -> UUID:
        made: UUID = self.decision["id"]
        return made


async def record(session: AsyncSession, draft: Draft, *, actor: Actor) -> UUID:
    """Write a decision with its candidates and tell of it, in the caller's transaction; returns its id."""
    await session.execute(_IN_TRANSACTION, _values(draft))
    append(session, **_event(draft, actor))
    return draft.id


def write(draft: Draft, *, actor: Actor) -> Write:
    """The same as a statement of its own."""
    values = _values(draft)
    return Write(_AT_ONCE, [values[name] for name in _VALUES], told(**_event(draft, actor)))


def _values(draft: Draft) -> dict[str, Any]:
    lists = zip(_LISTS, (draft.candidates[name] for name in CANDIDATE), strict=True)
    return {**draft.decision, "vector": draft.vector, **dict(lists)}


def _event(draft: Draft, actor: Actor) -> dict[str, Any]:
    decision = draft.decision
    return {
        "kind": EventKind.ROUTING_FELL_BACK if decision["fallback_used"] else EventKind.ROUTING_DECIDED,
        "team_id": decision["team_id"],
        "actor": actor,
        "agent_id": decision["selected_agent_id"],
        "conversation_id": decision["conversation_id"],
        "changes": draft.told,
    }


def candidate_columns(team: KnownTeam, choice: Choice) -> dict[str, list[Any]]:
    found = [score.candidate for score in choice.scores]
    slugs = [candidate.slug for candidate in found]
    tie_order = {slug: place for place, slug in enumerate(sorted(slugs), 1)}
    return {
        "agent_id": [team.agents[slug].id for slug in slugs],
        "agent_version": [team.agents[slug].version for slug in slugs],
        "tie_order": [tie_order[slug] for slug in slugs],
        "selected": [slug in choice.selected for slug in slugs],
        **{name: [units(getattr(candidate.signals, name)) for candidate in found] for name in WEIGHTS},
        "overall": [round(score.overall * SCORE_UNITS) for score in choice.scores],
        "matching_skills": [orjson.dumps(candidate.matching_skills).decode() for candidate in found],
    }
