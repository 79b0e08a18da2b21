"""What becomes of stages that failed: a person or the lead decides, each once. A managed lead is asked by a stage."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from app.agents.models import Agent, AgentRuntime, AgentStatus
from app.attention import service as attention
from app.collaborations.held import Held
from app.collaborations.models import (
    CollaborationPattern,
    CollaborationStage,
    FailureDecision,
    ParticipantRole,
    ParticipantStatus,
    StageKind,
    StageStatus,
)
from app.collaborations.narration import tell_stage
from app.collaborations.patterns.state import Order
from app.collaborations.steps import MOST_ATTEMPTS
from app.errors import Conflict, InvalidInput
from app.events.kinds import EventKind
from app.events.log import SYSTEM, Actor
from app.ids import Prefix, to_global
from app.tasks.availability import refuse_inactive
from app.tasks.errors import AuthorityExceeded
from app.tasks.models import Task

MOST_CHOICES = 20


@dataclass(frozen=True, slots=True)
class Decision:
    what: FailureDecision
    reason: str = ""
    to_agent_id: UUID | None = None


async def settle(
    session: AsyncSession, held: Held, stage: CollaborationStage, decision: Decision, actor: Actor
) -> str | None:
    """Put the failed attempt aside, so that the pattern finds it missing; answers why the session is to end instead."""
    if decision.what is FailureDecision.REASSIGN:
        _reassign(held, stage, decision.to_agent_id)
    elif decision.to_agent_id is not None:
        raise InvalidInput.of("agentId", "is for the decision REASSIGN only")
    told = {"toAgentId": to_global(Prefix.AGENT, decision.to_agent_id)} if decision.to_agent_id else {}
    what = {"decision": decision.what, "reason": decision.reason, **told}
    tell_stage(session, EventKind.COLLABORATION_DECIDED, held.row, stage, actor, **what)
    await attention.close_of_stage(session, stage.id, option=decision.what.value, note=decision.reason, actor=actor)
    if decision.what is FailureDecision.ABORT:
        return decision.reason or f"'{stage.name}' failed: {stage.error_message}"
    stage.superseded = True
    held.seat(stage.slot).status = ParticipantStatus.WAITING
    return None


def _reassign(held: Held, stage: CollaborationStage, to_agent_id: UUID | None) -> None:
    if to_agent_id is None:
        raise InvalidInput.of("agentId", "is needed to reassign")
    agent = held.agents[to_agent_id]
    refuse_inactive(agent)
    allowed = held.row.allowed_agents
    if allowed is not None and to_agent_id not in allowed and to_agent_id != held.row.lead_id:
        raise AuthorityExceeded([f"the agent '{agent.slug}'"])
    once = held.row.pattern is not CollaborationPattern.PIPELINE
    if once and any(seat.agent_id == to_agent_id for seat in held.seats):
        raise Conflict(f"{held.agents[to_agent_id].name} takes part already. Name another agent, or retry.")
    seat = held.seat(stage.slot)
    if seat.role is ParticipantRole.LEAD:
        held.row.lead_id = to_agent_id
    seat.agent_id = to_agent_id


async def spare_optional(session: AsyncSession, held: Held) -> None:
    """A review whose time ran out is done once more without what is optional in it; nobody has to decide on that."""
    for stage in held.failed():
        if stage.kind is StageKind.REVIEW and stage.status is StageStatus.TIMED_OUT and stage.attempt == 1:
            why = "Its time ran out: it is done once more, without the optional checks."
            await settle(session, held, stage, Decision(FailureDecision.RETRY, why), SYSTEM)


async def due_decisions(session: AsyncSession, held: Held) -> list[Order]:
    """The failed stages on which the lead is to be asked: it is managed, active, and did not fail itself."""
    seat = next((one for one in held.seats if one.role is ParticipantRole.LEAD), None)
    lead = held.agents[seat.agent_id] if seat else None
    if seat is None or lead is None or (lead.runtime, lead.status) != (AgentRuntime.MANAGED, AgentStatus.ACTIVE):
        return []
    open_ones = [one for one in held.failed() if one.agent_id != lead.id and one.attempt < MOST_ATTEMPTS]
    asked = [one for one in open_ones if held.find((StageKind.DECISION, one.round, one.position)) is None]
    if not asked:
        return []
    others = await _others(session, held)
    return [
        Order(
            StageKind.DECISION,
            one.round,
            seat.slot,
            one.position,
            f"decision on {one.name}"[:120],
            about=f"The stage '{one.name}' of {held.agents[one.agent_id].name} failed in attempt {one.attempt} of "
            f"{MOST_ATTEMPTS}: {(one.error_message or '')[:2_000]}",
            choices=tuple(others),
        )
        for one in asked
    ]


async def _others(session: AsyncSession, held: Held) -> list[str]:
    """Active agents that do not take part yet, of those whom the session may ask."""
    sitting = [seat.agent_id for seat in held.seats]
    free = select(Agent.slug).where(
        Agent.team_id == held.row.team_id, Agent.status == AgentStatus.ACTIVE, Agent.id.not_in(sitting)
    )
    if held.row.allowed_agents is not None:
        free = free.where(Agent.id.in_(held.row.allowed_agents))
    return list(await session.scalars(free.order_by(Agent.slug).limit(MOST_CHOICES)))


async def agents_named(session: AsyncSession, team_id: UUID, task_id: UUID) -> list[UUID]:
    """Whom the lead named in this task to take over; they are locked before the session is."""
    output = await session.scalar(select(Task.output).where(Task.team_id == team_id, Task.id == task_id))
    slug = (output or {}).get("agent")
    if not isinstance(slug, str):
        return []
    return list(await session.scalars(select(Agent.id).where(Agent.team_id == team_id, Agent.slug == slug)))


def decided(held: Held) -> list[tuple[CollaborationStage, CollaborationStage]]:
    """What the lead has said, and the failed stage that it is about, where that still waits for it."""
    waiting = {one.position: one for one in held.failed()}
    said = [one for one in held.current() if one.kind is StageKind.DECISION and one.status is StageStatus.COMPLETED]
    return [(one, waiting[one.part]) for one in said if one.part in waiting]


async def take_decisions(session: AsyncSession, held: Held) -> str | None:
    """Do what the lead has said; answers why the session is to end, if it is. One who cannot take over is not forced:
    the same agent tries again. Nor is one that is not locked here, which happens when two decisions end at once."""
    for said, failed in decided(held):
        data = said.data or {}
        reason = str(data.get("reason") or "")[:500]
        what = FailureDecision(data.get("decision", FailureDecision.RETRY))
        free = {one.slug: one.id for one in held.agents.values() if _can_take_over(held, one)}
        to_agent_id = free.get(str(data.get("agent"))) if what is FailureDecision.REASSIGN else None
        if what is FailureDecision.REASSIGN and to_agent_id is None:
            what = FailureDecision.RETRY
        aborted = await settle(session, held, failed, Decision(what, reason, to_agent_id), SYSTEM)
        if aborted:
            return aborted
    return None


def _can_take_over(held: Held, agent: Agent) -> bool:
    allowed = held.row.allowed_agents
    free = agent.status is AgentStatus.ACTIVE and all(seat.agent_id != agent.id for seat in held.seats)
    return free and (allowed is None or agent.id in allowed)
