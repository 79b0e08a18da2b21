"""Rows of routing as the graph shows them: whole ten-thousandths and the like as numbers of 0 to 1, or 0 to 10, and
milliseconds until an answer as seconds."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Column, ColumnElement, Subquery, Table, Text, cast, func, literal_column, select
from sqlalchemy.dialects.postgresql import ARRAY, aggregate_order_by
from sqlalchemy.types import Double

from app.agents.models import Agent
from app.routing import models
from app.routing.score import UNITS
from app.routing.service import HUNDREDTHS
from graphql_schema.planner.mapping import Caller

MS_IN_SECOND = 1_000
_AGENT = Agent.__table__
_DECISION: Any = models.RoutingDecision.__table__
_CANDIDATE: Any = models.RoutingCandidate.__table__
_POLICY: Any = models.RoutingPolicy.__table__
_UNITS = {
    _DECISION: {
        "threshold": UNITS,
        "skill_floor": UNITS,
        "confidence": models.SCORE_UNITS,
        "response_ms": MS_IN_SECOND,
        **{name: HUNDREDTHS for name in _DECISION.c.keys() if name.startswith("complexity")},
    },
    _CANDIDATE: {
        "skill_match": UNITS,
        "past_performance": UNITS,
        "personality_fit": UNITS,
        "load_balance": UNITS,
        "overall": models.SCORE_UNITS,
    },
    _POLICY: {
        "skill_match_weight": UNITS,
        "past_performance_weight": UNITS,
        "personality_fit_weight": UNITS,
        "load_balance_weight": UNITS,
        "threshold": UNITS,
        "skill_floor": UNITS,
    },
}


def _shown(table: Table, column: Column[Any]) -> ColumnElement[Any]:
    """Divided, not multiplied: the quotient is the very number that a client writes, so that `eq` finds it."""
    unit = _UNITS[table].get(column.name)
    return column if unit is None else (cast(column, Double) / _constant(unit)).label(column.name)


def _constant(number: int) -> ColumnElement[float]:
    """In the statement's text: as a parameter it would be converted again for every row."""
    return literal_column(f"{number}::float8", Double)


def _columns(table: Table) -> list[ColumnElement[Any]]:
    return [_shown(table, column) for column in table.c]


def _selected_names() -> ColumnElement[Any]:
    names = aggregate_order_by(_AGENT.c.name, func.array_position(_DECISION.c.selected_agent_ids, _AGENT.c.id))
    chosen = _AGENT.c.id == func.any(_DECISION.c.selected_agent_ids)
    found = select(func.array_agg(names, type_=ARRAY(Text))).where(chosen, _AGENT.c.team_id == _DECISION.c.team_id)
    return found.correlate(_DECISION).scalar_subquery().label("selected_names")


def _left_out_names() -> ColumnElement[Any]:
    names = func.array_agg(aggregate_order_by(_AGENT.c.name, _AGENT.c.slug), type_=ARRAY(Text))
    mine = _AGENT.c.id == func.any(_DECISION.c.left_out_ids)
    found = select(names).where(mine, _AGENT.c.team_id == _DECISION.c.team_id)
    return found.correlate(_DECISION).scalar_subquery().label("left_out_names")


def _weights() -> ColumnElement[Any]:
    mine = select(
        func.json_build_array(*(_shown(_POLICY, _POLICY.c[name]).element for name in list(_UNITS[_POLICY])[:4]))
    ).where(_POLICY.c.id == _DECISION.c.policy_id, _DECISION.c.id == _CANDIDATE.c.decision_id)
    return mine.correlate(_CANDIDATE).scalar_subquery().label("weights")


def _agent_name() -> ColumnElement[Any]:
    mine = select(_AGENT.c.name).where(_AGENT.c.id == _CANDIDATE.c.agent_id)
    return mine.correlate(_CANDIDATE).scalar_subquery().label("agent_name")


DECISIONS: Subquery = select(*_columns(_DECISION), _selected_names(), _left_out_names()).subquery()
# Pages of one decision's candidates: within it, the agent tells them apart.
CANDIDATES: Subquery = select(
    _CANDIDATE.c.agent_id.label("id"), *_columns(_CANDIDATE), _agent_name(), _weights()
).subquery()
POLICIES: Subquery = select(*_columns(_POLICY)).subquery()


def newest_policy() -> ColumnElement[Any]:
    """The version of the caller's team's policy that counts."""
    return select(func.max(_POLICY.c.version)).where(_POLICY.c.team_id == Caller.team_id).scalar_subquery()
