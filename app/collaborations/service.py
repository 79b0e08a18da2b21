"""Starts sessions: everything that can be refused is refused here, in the transaction that would create the session."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

from sqlalchemy import func, select
from sqlalchemy.ext.asyncio import AsyncSession

from app.agents.models import Agent
from app.collaborations.held import Held, lock_agents
from app.collaborations.models import (
    OPEN,
    Collaboration,
    CollaborationParticipant,
    CollaborationPattern,
    CollaborationStatus,
    ParticipantRole,
    ParticipantStatus,
)
from app.collaborations.narration import tell
from app.collaborations.origin import open_session_budget, refuse_below
from app.collaborations.roster import check_roster
from app.collaborations.seating import Seating, seated
from app.collaborations.spec import OPTIONS, THRESHOLD, CollaborationSpec
from app.collaborations.transitions import ask_deadline, proceed
from app.config import Settings
from app.events.kinds import EventKind
from app.events.log import Actor
from app.ids import Prefix, new_id, to_global
from app.tasks.availability import refuse_inactive
from app.tasks.errors import AgentUnavailable, UnavailableReason
from app.tasks.starts import BY_OTHERS, Start, lock_origin
from app.teams import service as teams
from app.teams.flags import FeatureFlag, require

MOST_LED = 20  # open sessions that one agent may lead at a time


@dataclass(frozen=True, slots=True)
class Origin:
    """From where a session is started. `lead_id` leads it where none of the participants does; `start` says on what
    authority, and `agent_id` is the agent that must work on the task which starts it. `directives`: whether the offline
    model obeys those in the goal and in the participants' own instructions."""

    lead_id: UUID | None = None
    conversation_id: UUID | None = None
    start: Start = BY_OTHERS
    agent_id: UUID | None = None
    directives: bool = False


NOWHERE = Origin()


async def start(
    session: AsyncSession,
    *,
    team_id: UUID,
    spec: CollaborationSpec,
    settings: Settings,
    actor: Actor,
    origin: Origin = NOWHERE,
    matches: Mapping[str, float] | None = None,
) -> Collaboration:
    """Raises FeatureDisabled, ParticipantsUnsuitable, NotFound, AgentUnavailable, AuthorityExceeded, BudgetExhausted,
    AllowanceExceeded, CycleDetected, DelegationDepthExceeded, OscillationDetected, ClaimLost, InvalidInput, or Conflict
    of a group that cannot be picked of; then nothing is created and nothing reserved. Its first stages are ordered at
    once. `matches` are how well agents' skills fit the goal, for picking of groups."""
    team = await teams.share(session, team_id)
    require(FeatureFlag.COLLABORATION, settings.flags, team.flags)
    check_roster(spec.pattern, spec.template, spec.participants)
    seating = await seated(session, team_id, spec, matches)
    starters = {agent_id for agent_id in (origin.lead_id, origin.start.allowance_of) if agent_id}
    found = await lock_agents(session, team_id, {one.agent for one in seating} | starters)
    task = await lock_origin(session, team_id=team_id, start=origin.start, agent_id=origin.agent_id)
    if task is not None:
        await refuse_below(session, task, spec, found)
    for agent in found.values():
        refuse_inactive(agent)
    lead_id = next((one.agent for one in seating if one.role is ParticipantRole.LEAD), origin.lead_id)
    if lead_id is not None:
        await _refuse_one_more(session, found[lead_id])
    payer = found.get(origin.start.allowance_of) if origin.start.allowance_of else None
    budget_id, amount = await open_session_budget(session, team, spec, task, payer, settings)
    at = (await session.scalars(select(func.clock_timestamp()))).one()
    row = _row(spec, team_id, lead_id, budget_id)
    row.max_cost, row.deadline = amount, at + timedelta(seconds=spec.duration_s)
    row.on_behalf_of = task.on_behalf_of if task else actor.name
    row.conversation_id, row.obeys_directives = origin.conversation_id, origin.directives
    if task is not None:
        row.conversation_id = row.conversation_id or task.conversation_id
        row.origin_task_id, row.allowed_tools, row.allowed_agents = task.id, task.allowed_tools, task.allowed_agents
    session.add(row)
    await session.flush()
    seats = _seats(seating, row)
    session.add_all(seats)
    await session.flush()
    told = (
        {} if row.conversation_id is None else {"conversationId": to_global(Prefix.CONVERSATION, row.conversation_id)}
    )
    tell(session, EventKind.COLLABORATION_STARTED, row, actor, pattern=row.pattern, goal=row.goal, **told)
    ask_deadline(session, row)
    await proceed(session, Held(team, row, at, seats, found), settings, actor)
    return row


async def _refuse_one_more(session: AsyncSession, lead: Agent) -> None:
    """Its row is held, so of many that start at once each counts those before."""
    mine = select(func.count()).where(Collaboration.lead_id == lead.id, Collaboration.status.in_(OPEN))
    if (await session.scalar(mine) or 0) >= MOST_LED:
        raise AgentUnavailable(
            f"{lead.name} leads {MOST_LED} open sessions, the most at a time. Wait until one ends or name another.",
            UnavailableReason.AT_CAPACITY,
        )


def _row(spec: CollaborationSpec, team_id: UUID, lead_id: UUID | None, budget_id: UUID) -> Collaboration:
    voting = spec.pattern is CollaborationPattern.CONSENSUS
    return Collaboration(
        id=new_id(),
        team_id=team_id,
        pattern=spec.pattern,
        template=spec.template,
        team_template=spec.team_template,
        goal=spec.goal,
        context=spec.context,
        options=list(spec.options or OPTIONS) if voting else [],
        threshold=spec.threshold or THRESHOLD,
        on_failure=spec.on_failure,
        lead_id=lead_id,
        budget_id=budget_id,
        max_cost=spec.max_cost_usd,
        max_duration_s=spec.duration_s,
        max_rounds=spec.rounds,
        work_timeout_s=spec.work_timeout_seconds,
        review_timeout_s=spec.review_timeout_seconds,
        status=CollaborationStatus.PLANNING,
        round=0,
        stages_completed=0,
    )


def _seats(seating: Sequence[Seating], row: Collaboration) -> list[CollaborationParticipant]:
    return [
        CollaborationParticipant(
            id=new_id(),
            team_id=row.team_id,
            collaboration_id=row.id,
            agent_id=one.agent,
            group_id=one.spec.group_id,
            picked_because=one.because,
            slot=slot,
            role=one.role,
            stage=one.stage,
            instructions=one.spec.instructions,
            status=ParticipantStatus.WAITING,
        )
        for slot, one in enumerate(seating)
    ]
