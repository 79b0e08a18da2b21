"""A person decides otherwise than routing did: kept beside the decision, told, and learnt from."""

from __future__ import annotations

from collections.abc import Collection
from uuid import UUID

from sqlalchemy import func, select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncSession

from app.errors import Conflict
from app.events.kinds import EventKind
from app.events.log import Actor, append
from app.ids import Prefix, new_id, to_global
from app.routing.feedback import locked
from app.routing.models import RoutingDecision, RoutingOutcome, RoutingOverride, RoutingRating

STARS_OF_THE_REPLACED, STARS_OF_THE_CHOSEN = 2, 4


async def record(
    session: AsyncSession, *, team_id: UUID, decision_id: UUID, agent_id: UUID, reason: str, actor: Actor
) -> RoutingDecision:
    """Raises NotFound, or Conflict when this agent is to answer already."""
    decision = await locked(session, team_id, decision_id)
    before = await _present(session, decision)
    if before == [agent_id]:
        raise Conflict("This agent is to answer already: nothing is left to override.")
    override = RoutingOverride(
        id=new_id(),
        team_id=team_id,
        decision_id=decision.id,
        agent_id=agent_id,
        reason=reason,
        overridden_by=actor.name,
    )
    session.add(override)
    decision.outcome = RoutingOutcome.REDIRECTED
    await learn(session, decision, [one for one in before if one != agent_id], agent_id, reason, actor)
    told = {
        "routing_decision_id": to_global(Prefix.ROUTING_DECISION, decision.id),
        "from_agent_ids": [to_global(Prefix.AGENT, one) for one in before],
        "to_agent_id": to_global(Prefix.AGENT, agent_id),
        "reason": reason,
    }
    append(
        session,
        EventKind.ROUTING_OVERRIDDEN,
        team_id=team_id,
        actor=actor,
        agent_id=agent_id,
        conversation_id=decision.conversation_id,
        changes=told,
    )
    return decision


async def learn(
    session: AsyncSession,
    decision: RoutingDecision,
    replaced: Collection[UUID],
    chosen: UUID,
    reason: str,
    actor: Actor,
) -> None:
    """As ratings by that person, so that similar messages go to the chosen agent rather than to those replaced."""
    stars = {**dict.fromkeys(replaced, STARS_OF_THE_REPLACED), chosen: STARS_OF_THE_CHOSEN}
    for agent_id, given in sorted(stars.items()):
        link = {"team_id": decision.team_id, "decision_id": decision.id, "agent_id": agent_id, "rated_by": actor.name}
        values = {"id": new_id(), "stars": given, "comment": reason}
        await session.execute(
            insert(RoutingRating)
            .values(**link, **values)
            .on_conflict_do_update(
                index_elements=["decision_id", "agent_id", "rated_by"], set_={**values, "created_at": func.now()}
            )
        )


async def newest_of(session: AsyncSession, *, team_id: UUID, conversation_id: UUID) -> RoutingDecision | None:
    """The last decision in a conversation."""
    mine = (RoutingDecision.team_id == team_id) & (RoutingDecision.conversation_id == conversation_id)
    newest = select(RoutingDecision).where(mine).order_by(RoutingDecision.created_at.desc(), RoutingDecision.id.desc())
    return await session.scalar(newest.limit(1))


async def _present(session: AsyncSession, decision: RoutingDecision) -> list[UUID]:
    """Who is to answer as of now: by the newest override, else those who were selected."""
    mine = select(RoutingOverride.agent_id).where(RoutingOverride.decision_id == decision.id)
    last = await session.scalar(mine.order_by(RoutingOverride.id.desc()).limit(1))
    return list(decision.selected_agent_ids) if last is None else [last]
