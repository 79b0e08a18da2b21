"""The SQL of a replay: each stored decision again under another policy, in whole numbers, so to the same digit.

One pass over the decisions. What a policy leaves out is read from the decision itself; nothing that a caller sends
becomes part of the text.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any
from uuid import UUID

from app.routing.choice import RoutingMode
from app.routing.packing import PLACE_BITS, PLACES, SIGNAL_BITS
from app.routing.performance import UNRATED
from app.routing.policies import WEIGHTS
from app.routing.router import Reason
from app.routing.score import UNITS, Weights, units
from app.routing.select import MOST_AGENTS, Strategy

_SIGNAL = 2**SIGNAL_BITS - 1
_SHIFTS = {name: PLACE_BITS + (3 - at) * SIGNAL_BITS for at, name in enumerate(WEIGHTS)}
# Nothing lies above the first signal, so it needs no mask.
_PARTS = [
    f"(packed >> {_SHIFTS[name]}{f' & {_SIGNAL}' if at else ''}) * {name}_weight" for at, name in enumerate(WEIGHTS)
]
_SCORE = " + ".join(_PARTS)
# Who is chosen first. The common case, one agent, is a maximum over numbers, of which the place is the lowest part.
_FIRST = f"""
select candidate_ids[{PLACES + 1} - (max((score << {PLACE_BITS}) + (packed & {PLACES})) & {PLACES})] from (
    select packed, {_SCORE} as score
    from (select unnest(candidate_signals) as packed) as candidate where packed >= floor offset 0
) as scored where score >= threshold
"""
_ALL = f"""
select candidate_ids[place] from (
    select place, {_SCORE} as score
    from (
        select unnest(candidate_signals) as packed, generate_subscripts(candidate_signals, 1) as place
    ) as candidate where packed >= floor offset 0
) as scored where score >= threshold order by score desc, place limit most
"""
# As app/routing/stand_in.py says: candidates are those who were active and not left out. Older decisions do not know
# whom they left out, and had the default agent step in all the same.
_STANDS_IN = """
case when default_agent_id = any(left_out_ids)
    then case when current_agent_id = any(candidate_ids) then current_agent_id end else default_agent_id end
"""
# `offset 0` keeps what is costly from being computed once for each of its uses. Lists are told only of more than one
# agent: single keys are much cheaper to group by.
_REPLAYED = f"""
select *, coalesce(first_id, list[1], {_STANDS_IN}) as after_id,
    case when cardinality(list) > 1 then list end as after,
    first_id is null and coalesce(cardinality(list), 0) = 0 as falls_back,
    cardinality(list) > 1 and asked <> '{Strategy.CASCADE}' as all_answer
from (
    select *, case when most = 1 and few then ({_FIRST}) end as first_id,
        case when most > 1 or not few then array({_ALL}) end as list
    from decision {{order}} offset 0
) as decision
"""
# How good the new first choice is known to be: its own rating of this very decision, where it answered beside others,
# or else the mean of its ratings on similar queries, which its past performance is unless it had none.
_KNOWN = f"""
case when after_id is distinct from before_id and not falls_back then coalesce(
    case when after_id = any(before) then (
        select avg(stars - 1) / 4 from routing_rating
        where routing_rating.decision_id = replayed.id and routing_rating.agent_id = replayed.after_id
    ) end,
    nullif(
        candidate_signals[array_position(candidate_ids, after_id)] >> {_SHIFTS["past_performance"]} & {_SIGNAL},
        {units(UNRATED)}
    )::float8 / {UNITS}
) end
"""
_MOVES = f"""
select left_out, before_id, after_id, coalesce(before, array_remove(array[before_id], null)) as before,
    coalesce(after, array_remove(array[after_id], null)) as after, after_id is distinct from before_id as flipped,
    fallback_used as fell_back, falls_back, all_answered, all_answer, decisions, cost, rated, ratings, known,
    known_ratings
from (
    select left_out, before_id, after_id, before, after, fallback_used, falls_back, all_answered, all_answer,
        count(*) as decisions, sum(cost) as cost, count(rating) as rated, sum(rating) as ratings,
        count({_KNOWN}) as known, sum({_KNOWN}) as known_ratings
    from replayed group by 1, 2, 3, 4, 5, 6, 7, 8, 9
) as move
"""
_TOTALS = """
select coalesce(sum(decisions), 0) as replayed,
    coalesce(sum(decisions) filter (where flipped), 0) as flips,
    coalesce(sum(decisions) filter (where before <> after), 0) as selections_changed,
    coalesce(sum(decisions) filter (where fell_back), 0) as fallbacks_before,
    coalesce(sum(decisions) filter (where falls_back), 0) as fallbacks_after,
    coalesce(sum(rated) filter (where not flipped), 0) as kept_rated,
    sum(ratings) filter (where not flipped) as kept_ratings,
    coalesce(sum(rated) filter (where flipped), 0) as flipped_rated,
    sum(ratings) filter (where flipped) as flipped_ratings,
    coalesce(sum(known), 0) as known, sum(known_ratings) as known_ratings
from move where left_out is null
"""
_AGENTS = """
select agent.id, agent.slug, agent.name,
    coalesce(sum(decisions) filter (where place = 1 and not later), 0) as first_before,
    coalesce(sum(decisions) filter (where place = 1 and later), 0) as first_after,
    coalesce(sum(decisions) filter (where not later), 0) as selected_before,
    coalesce(sum(decisions) filter (where later), 0) as selected_after,
    coalesce(sum(decisions) filter (where answers and not later), 0) as answers_before,
    coalesce(sum(decisions) filter (where answers and later), 0) as answers_after,
    coalesce(sum(share) filter (where answers and not later), 0)::text as cost
from (
    select agent_id, place, false as later, decisions, place = 1 or all_answered as answers,
        case when all_answered then cost / cardinality(before) else cost end as share
    from move, unnest(before) with ordinality as chosen(agent_id, place) where left_out is null
    union all
    select agent_id, place, true, decisions, place = 1 or all_answer, 0
    from move, unnest(after) with ordinality as chosen(agent_id, place) where left_out is null
) as part join agent on agent.id = part.agent_id
group by agent.id order by agent.slug
"""
_FIGURES = f"""
select json_build_object(
    'totals', (select row_to_json(total) from ({_TOTALS}) as total),
    'left_out', (
        select json_object_agg(left_out, decisions) from (
            select left_out, sum(decisions) as decisions from move where left_out is not null group by 1
        ) as missing
    ),
    'agents', (select json_agg(agent) from ({_AGENTS}) as agent)
)
"""
_FLIPS = f"""
select flip.*, decision.query, decision.default_agent_id, decision.threshold, decision.skill_floor,
    {", ".join(f"policy.{name}_weight" for name in WEIGHTS)}
from (
    select id, created_at, before_id, after_id, fallback_used, falls_back, candidate_ids, candidate_signals
    from replayed where left_out is null and after_id is distinct from before_id
    order by created_at desc, id desc limit $1
) as flip
join routing_decision as decision on decision.id = flip.id
join routing_policy as policy on policy.id = decision.policy_id
order by flip.created_at desc, flip.id desc
"""


class LeftOut(StrEnum):
    """Why a decision cannot be replayed: no score decided it."""

    DIRECT = "direct"
    ROUTER = "router"
    MENTION = "mention"


_LEFT_OUT = f"""
case when mode <> '{RoutingMode.GATE}' then mode when reason = '{Reason.USER_MENTION}' then '{LeftOut.MENTION}' end
"""


Place = tuple[datetime, UUID]  # of a decision in the order of time


@dataclass(frozen=True)
class Proposal:
    """Another policy. What is None stays as it was with each decision."""

    weights: Weights | None = None
    threshold: float | None = None
    skill_floor: float | None = None
    strategy: Strategy | None = None
    k: int | None = None


@dataclass(frozen=True)
class Among:
    """Which decisions: a select of their ids, and its parameters from $1 on."""

    sql: str
    arguments: list[Any]


@dataclass(frozen=True)
class Statement:
    sql: str
    arguments: list[Any]


@dataclass(frozen=True)
class Span:
    """Decisions newer than `after` and not newer than `until`; None: no such bound."""

    after: Place | None = None
    until: Place | None = None


WHOLE = Span()


class Replay:
    """The statements of one replay over a team's decisions."""

    def __init__(self, team_id: UUID, proposal: Proposal, among: Among | None) -> None:
        self._team_id, self._proposal, self._among = team_id, proposal, among

    def place(self, newer: int, span: Span = WHOLE) -> Statement:
        """Finds the decision than which so many of the span are newer."""
        bound = Bound(self._among)
        sql = f"""
            select created_at, id from routing_decision as decision where {self._conditions(bound, span)}
            order by created_at desc, id desc offset {bound.add(newer, "bigint")} limit 1
        """
        return Statement(sql, bound.arguments)

    def figures(self, span: Span) -> Statement:
        """One JSON value: totals, decisions left out, and each agent's part before and after."""
        bound = Bound(self._among)
        sql = f"""
            with decision as ({self._decisions(bound, span)}), replayed as ({_REPLAYED.format(order="")}),
            move as materialized ({_MOVES})
            {_FIGURES}
        """
        return Statement(sql, bound.arguments)

    def flips(self, span: Span, most: int) -> Statement:
        """The newest decisions whose first choice changes."""
        bound = Bound(self._among)
        newest_first = _REPLAYED.format(order="order by created_at desc, id desc")
        sql = f"""
            with decision as ({self._decisions(bound, span)}), replayed as ({newest_first})
            {_FLIPS.replace("$1", bound.add(most, "bigint"))}
        """
        return Statement(sql, bound.arguments)

    def _conditions(self, bound: Bound, span: Span) -> str:
        found = [f"decision.team_id = {bound.add(self._team_id, 'uuid')}"]
        if self._among is not None:
            found.append(f"decision.id in ({self._among.sql})")
        for comparison, place in ((">", span.after), ("<=", span.until)):
            if place is not None:
                edge = f"({bound.add(place[0], 'timestamptz')}, {bound.add(place[1], 'uuid')})"
                found.append(f"(decision.created_at, decision.id) {comparison} {edge}")
        return " and ".join(found)

    def _decisions(self, bound: Bound, span: Span) -> str:
        """Each decision with the policy that it is replayed under."""
        other = self._proposal
        join = "join routing_policy as policy on policy.id = decision.policy_id" if other.weights is None else ""
        weights = [f"{self._weight(bound, name)} as {name}_weight" for name in WEIGHTS]
        threshold = bound.given(other.threshold, "decision.threshold")
        floor = bound.given(other.skill_floor, "decision.skill_floor")
        k = "decision.k" if other.k is None else bound.add(other.k, "integer")
        asked = "decision.asked_strategy" if other.strategy is None else bound.add(other.strategy.value, "text")
        return f"""
            select decision.id, decision.created_at, {_LEFT_OUT} as left_out, selected_agent_id as before_id,
                case when cardinality(selected_agent_ids) > 1 then selected_agent_ids end as before,
                cardinality(selected_agent_ids) > 1 and decision.strategy <> '{Strategy.CASCADE}' as all_answered,
                fallback_used, default_agent_id, current_agent_id, left_out_ids, candidate_ids, candidate_signals,
                rating,
                coalesce(actual_cost, estimated_cost) as cost, {asked} as asked,
                case
                    when {_LEFT_OUT} is not null then 0
                    when {asked} = '{Strategy.TOP_1}' or not (ensemble_allowed or {asked} = '{Strategy.CASCADE}') then 1
                    when {asked} = '{Strategy.TOP_K}' then {k}
                    else {MOST_AGENTS}
                end as most,
                cardinality(candidate_ids) <= {PLACES} as few,
                {threshold}::bigint * {UNITS} as threshold, {floor}::bigint << {_SHIFTS["skill_match"]} as floor,
                {", ".join(weights)}
            from routing_decision as decision {join} where {self._conditions(bound, span)}
        """

    def _weight(self, bound: Bound, name: str) -> str:
        if self._proposal.weights is None:
            return f"policy.{name}_weight::bigint"
        return bound.add(units(getattr(self._proposal.weights, name)), "bigint")


class Bound:
    """The parameters of a statement, numbered as they come."""

    def __init__(self, among: Among | None) -> None:
        self.arguments: list[Any] = [] if among is None else list(among.arguments)

    def add(self, value: Any, sql_type: str) -> str:
        self.arguments.append(value)
        return f"${len(self.arguments)}::{sql_type}"

    def given(self, value: float | None, otherwise: str) -> str:
        return otherwise if value is None else self.add(units(value), "integer")
