"""What is learnt of a decision afterwards: how its answers were rated, what became of it, what it cost."""

from __future__ import annotations

from decimal import Decimal
from typing import Any
from uuid import UUID

from sqlalchemy import func, select, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncSession

from app.errors import Conflict, InvalidInput, NotFound, check_text
from app.events.kinds import EventKind
from app.events.log import Actor, append
from app.ids import Prefix, new_id, to_global
from app.routing.facts import MOST_STARS, rating_of
from app.routing.models import RoutingDecision, RoutingOutcome, RoutingRating

MAX_COMMENT = 2_000
MAX_RATER = 120
MOST_RESPONSE_MS = 2_147_483_647
MOST_COST_USD = 1_000_000


async def rate(
    session: AsyncSession,
    *,
    team_id: UUID,
    decision_id: UUID,
    agent_id: UUID | None,
    stars: int,
    comment: str,
    rater: str | None,
    actor: Actor,
) -> RoutingDecision:
    """Rate one agent's answer; the same rater's next word on it replaces the last.

    The decision's rating becomes the mean of all, and a query rated four stars or more an example of what the agent
    does well.
    """
    if not 1 <= stars <= MOST_STARS:
        raise InvalidInput.of("stars", f"must be 1 to {MOST_STARS}")
    comment = check_text("comment", comment, most=MAX_COMMENT)
    rated_by = actor.name if rater is None else check_text("rater", rater, least=1, most=MAX_RATER)
    decision = await locked(session, team_id, decision_id)
    rated = agent_id or decision.selected_agent_id
    if rated is None or rated not in decision.selected_agent_ids:
        raise Conflict("Only answers of agents that were selected for this message can be rated.")
    values: dict[str, Any] = {"id": new_id(), "stars": stars, "comment": comment}
    link = {"team_id": team_id, "decision_id": decision_id, "agent_id": rated, "rated_by": rated_by}
    await session.execute(
        insert(RoutingRating)
        .values(**values, **link)
        .on_conflict_do_update(
            index_elements=["decision_id", "agent_id", "rated_by"], set_={**values, "created_at": func.now()}
        )
    )
    of_answers = RoutingRating.agent_id.in_(decision.selected_agent_ids)  # not of who a person chose instead
    mean = await session.scalar(
        select(func.avg(RoutingRating.stars)).where(RoutingRating.decision_id == decision_id, of_answers)
    )
    decision.rating = rating_of(float(mean or stars))
    told = {"stars": stars, "rated_by": rated_by, "rating": decision.rating}
    _tell(session, EventKind.ROUTING_RATED, decision, rated, actor, told)
    return decision


async def record_outcome(
    session: AsyncSession,
    *,
    team_id: UUID,
    decision_id: UUID,
    outcome: RoutingOutcome,
    actual_cost: Decimal | None,
    response_ms: int | None,
    actor: Actor,
) -> RoutingDecision:
    """Say what became of a message. What is not given stays; a later word replaces an earlier one."""
    if actual_cost is not None and not 0 <= actual_cost <= MOST_COST_USD:
        raise InvalidInput.of("actualCostUsd", f"must be 0 to {MOST_COST_USD:,}")
    decision = await locked(session, team_id, decision_id)
    changes: dict[str, Any] = {"outcome": outcome, "actual_cost": actual_cost, "response_ms": response_ms}
    given = {name: value for name, value in changes.items() if value is not None}
    await session.execute(update(RoutingDecision).where(RoutingDecision.id == decision_id).values(given))
    told = {name: float(value) if isinstance(value, Decimal) else value for name, value in given.items()}
    if response_ms is not None:
        told["response_seconds"] = told.pop("response_ms") / 1000
    _tell(session, EventKind.ROUTING_OUTCOME_RECORDED, decision, decision.selected_agent_id, actor, told)
    return decision


async def locked(session: AsyncSession, team_id: UUID, decision_id: UUID) -> RoutingDecision:
    mine = select(RoutingDecision).where(RoutingDecision.team_id == team_id, RoutingDecision.id == decision_id)
    decision = await session.scalar(mine.with_for_update(key_share=True))
    if decision is None:
        raise NotFound("There is no such routing decision in this team.")
    return decision


def _tell(
    session: AsyncSession,
    kind: EventKind,
    decision: RoutingDecision,
    agent_id: UUID | None,
    actor: Actor,
    changes: dict[str, Any],
) -> None:
    which = {"routing_decision_id": to_global(Prefix.ROUTING_DECISION, decision.id)}
    append(session, kind, team_id=decision.team_id, actor=actor, agent_id=agent_id, changes=which | changes)
