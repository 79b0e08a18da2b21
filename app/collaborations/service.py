"""Starts sessions: everything that can be refused is refused here, in the transaction that would create the session."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

from sqlalchemy import func, select
from sqlalchemy.ext.asyncio import AsyncSession

from app.agents.models import Agent
from app.budgets import service as budgets
from app.budgets.caps import caps_of
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
from app.collaborations.roster import check_roster
from app.collaborations.seating import Seating, seated
from app.collaborations.spec import OPTIONS, THRESHOLD, CollaborationSpec
from app.collaborations.transitions import ask_deadline, proceed
from app.config import Settings
from app.events.kinds import EventKind
from app.events.log import Actor
from app.ids import Prefix, new_id, to_global
from app.tasks.availability import refuse_inactive
from app.tasks.errors import AgentUnavailable, AuthorityExceeded, UnavailableReason
from app.teams import service as teams
from app.teams.flags import FeatureFlag, require

MOST_LED = 20  # open sessions that one agent may lead at a time


@dataclass(frozen=True, slots=True)
class Origin:
    """From where a session is started. `lead_id` leads it where none of the participants does; `tools` and `agents` are
    all that the task may use and ask from which it is started, None: no limit."""

    on_behalf_of: str | None = None
    lead_id: UUID | None = None
    conversation_id: UUID | None = None
    tools: Collection[str] | None = None
    agents: Collection[UUID] | None = None


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
    InvalidInput, or Conflict of a group that cannot be picked of; then nothing is created and nothing reserved. Its
    first stages are ordered at once. `matches` are how well agents' skills fit the goal, for picking of groups."""
    team = await teams.share(session, team_id)
    require(FeatureFlag.COLLABORATION, settings.flags, team.flags)
    check_roster(spec.pattern, spec.template, spec.participants)
    seating = await seated(session, team_id, spec, matches)
    involved = {one.agent for one in seating} | ({origin.lead_id} if origin.lead_id else set())
    found = await lock_agents(session, team_id, involved)
    _refuse_beyond(origin, found)
    for agent in found.values():
        refuse_inactive(agent)
    lead_id = next((one.agent for one in seating if one.role is ParticipantRole.LEAD), origin.lead_id)
    if lead_id is not None:
        await _refuse_one_more(session, found[lead_id])
    budget_id = await budgets.open_for_session(
        session, team_id=team_id, caps=caps_of(team, settings), amount=spec.max_cost_usd
    )
    at = (await session.scalars(select(func.clock_timestamp()))).one()
    row = _row(spec, team_id, lead_id, budget_id)
    row.on_behalf_of, row.deadline = origin.on_behalf_of or actor.name, at + timedelta(seconds=spec.duration_s)
    row.conversation_id = origin.conversation_id
    row.allowed_tools = None if origin.tools is None else sorted(origin.tools)
    row.allowed_agents = None if origin.agents is None else sorted(origin.agents)
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


def _refuse_beyond(origin: Origin, found: Mapping[UUID, Agent]) -> None:
    """Who starts it may always take part itself."""
    if origin.agents is None:
        return
    beyond = [one.slug for one in found.values() if one.id not in origin.agents and one.id != origin.lead_id]
    if beyond:
        raise AuthorityExceeded([f"the agent '{slug}'" for slug in sorted(beyond)])


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
