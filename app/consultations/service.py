"""Asks: takes a question, has it answered by whom routing finds, and escalates what leads nowhere. All that can be
refused is refused here, in the transaction that would order the answer.

Locks are taken in one order: the team's row, its turn for waits, agents by id, tasks, the consultation, what needs a
person.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import func, select
from sqlalchemy.ext.asyncio import AsyncSession

from app.agents import service as agents
from app.agents.models import Agent
from app.config import Settings
from app.consultations import queries
from app.consultations.choosing import Asking as Asking
from app.consultations.choosing import choose
from app.consultations.context_builder import build
from app.consultations.loop_detector import Said, Verdict, detect
from app.consultations.models import (
    MAX_DEPTH,
    MAX_WHY,
    Consultation,
    ConsultationPhase,
    ConsultationStatus,
    ExchangeKind,
)
from app.consultations.narration import tell
from app.consultations.ordering import order, reopen
from app.consultations.preparation import Prepared, routed_text
from app.consultations.record import FREE, Uses, add_exchange, escalate
from app.consultations.spec import ConsultationSpec, what_to_redact
from app.consultations.specialist import Specialist
from app.errors import Conflict
from app.events.kinds import EventKind
from app.events.log import Actor
from app.ids import new_id
from app.inference.sizes import tokens_of
from app.routing import service as routing
from app.routing.service import Draft
from app.tasks.availability import refuse_inactive
from app.tasks.chain import chain_above
from app.tasks.dependencies import take_turns
from app.tasks.errors import AuthorityExceeded, DelegationDepthExceeded
from app.tasks.models import Task
from app.tasks.starts import BY_OTHERS, Start, lock_origin
from app.tasks.waits import circle_of
from app.teams import service as teams
from app.teams.flags import FeatureFlag, require

MOST_ESCALATED = 5  # consultations of one agent that wait for a person


async def request(
    session: AsyncSession,
    *,
    team_id: UUID,
    spec: ConsultationSpec,
    asking: Asking,
    prepared: Prepared,
    settings: Settings,
    actor: Actor,
) -> Consultation:
    """Raises FeatureDisabled, NotFound, AgentUnavailable, BudgetExhausted, AllowanceExceeded, DelegationDepthExceeded,
    ClaimLost or Conflict; then nothing is created and nothing reserved. A loop, or nobody who suits, is no refusal: a
    person is asked."""
    assert prepared.draft is not None
    team = await teams.share(session, team_id)
    require(FeatureFlag.AGENT_COLLABORATION, settings.flags, team.flags)
    await take_turns(session, team_id)
    known = await _hold(session, team_id, asking, prepared.draft)
    requester = known[asking.requester_id]
    refuse_inactive(requester)
    if await queries.count_of(session, requester.id, ConsultationStatus.ESCALATED) >= MOST_ESCALATED:
        raise Conflict(f"{MOST_ESCALATED} consultations of {requester.name} wait for a person. Wait for their answers.")
    task = await lock_origin(session, team_id=team_id, start=asking.start, agent_id=requester.id, in_progress=False)
    depth = await _depth(session, team_id, task)
    chosen = choose(prepared.draft, known, asking, task.allowed_agents if task else None)
    decision_id = await routing.record(session, prepared.draft, actor=actor)
    row = _row(team_id, spec, asking, chosen, depth)
    row.decision_id = decision_id
    row.on_behalf_of = task.on_behalf_of if task else actor.name
    at = (await session.scalars(select(func.clock_timestamp()))).one()
    verdict = await _examine(session, row, spec.question, prepared, at, new=True)
    what = what_to_redact(settings.redact_emails)
    package = build(
        spec,
        requester=requester.name,
        found=prepared.found,
        budget_tokens=settings.consultation_context_tokens,
        what=what,
    )
    if verdict.kind is None and chosen.agent_id is not None:
        await order(
            session,
            row,
            specialist=known[chosen.agent_id],
            requester=requester,
            question=spec.question,
            package=package,
            settings=settings,
            actor=actor,
            budget_usd=spec.budget_usd,
            origin=task,
            granted_to=requester if asking.start.allowance_of else None,
        )
    session.add(row)
    await session.flush()
    uses = {
        ConsultationPhase.REQUEST: (tokens_of(spec.question) + package["tokens"], FREE),
        ConsultationPhase.ROUTING: (tokens_of(routed_text(spec)), FREE),
    }
    await _ask(session, row, requester, ExchangeKind.QUESTION, spec.question, uses, package)
    told = {"question": row.question, "urgency": row.urgency, "reason": row.reason, "chosenBecause": row.chosen_because}
    tell(session, EventKind.CONSULTATION_REQUESTED, row, actor, **told)
    if verdict.kind is not None:
        await escalate(session, row, verdict.description, loop=verdict)
    elif chosen.agent_id is None:
        await escalate(session, row, chosen.because)
    return row


async def clarify(
    session: AsyncSession,
    *,
    team_id: UUID,
    consultation_id: UUID,
    requester_id: UUID | None,
    text: str,
    prepared: Prepared,
    settings: Settings,
    actor: Actor,
    start: Start = BY_OTHERS,
) -> Consultation:
    """The agent that asked wants to know more of what was answered; the task that it works on now pays, or its
    allowance. Raises FeatureDisabled, NotFound, Forbidden, AgentUnavailable, AuthorityExceeded, BudgetExhausted,
    AllowanceExceeded, DelegationDepthExceeded, ClaimLost or Conflict."""
    team = await teams.share(session, team_id)
    require(FeatureFlag.AGENT_COLLABORATION, settings.flags, team.flags)
    await take_turns(session, team_id)
    seen = await queries.find(session, team_id=team_id, consultation_id=consultation_id)
    parties = [await agents.lock(session, team_id, one) for one in sorted(_parties(seen))]
    known = {agent.id: agent for agent in parties}
    task = await lock_origin(session, team_id=team_id, start=start, agent_id=seen.requester_id, in_progress=False)
    row = await queries.find(session, team_id=team_id, consultation_id=consultation_id, lock=True)
    queries.require_requester(row, requester_id)
    if row.status is not ConsultationStatus.COMPLETED:
        raise Conflict(f"This consultation is {row.status.value}. It can be clarified once it is answered.")
    before = await queries.exchanges(session, row.id)
    if row.specialist_id not in known or before[-1].from_agent_id != row.specialist_id:
        raise Conflict("A person answered this consultation. Ask anew.")
    requester = known[row.requester_id]
    refuse_inactive(requester)
    await _depth(session, team_id, task)
    if task is not None and task.allowed_agents is not None and row.specialist_id not in task.allowed_agents:
        raise AuthorityExceeded([f"the agent '{known[row.specialist_id].slug}'"])
    at = (await session.scalars(select(func.clock_timestamp()))).one()
    verdict = await _examine(session, row, text, prepared, at, new=False)
    package = before[0].package or {}
    reopen(row)
    if verdict.kind is None:
        await order(
            session,
            row,
            specialist=known[row.specialist_id],
            requester=requester,
            question=text,
            package=package,
            settings=settings,
            actor=actor,
            before=before,
            origin=task,
            granted_to=requester if start.allowance_of else None,
        )
    uses = {ConsultationPhase.REQUEST: (tokens_of(text) + int(package.get("tokens", 0)), FREE)}
    await _ask(session, row, requester, ExchangeKind.CLARIFICATION, text, uses, package)
    tell(session, EventKind.CONSULTATION_CLARIFIED, row, actor, text=text, exchange=row.exchange_count)
    if verdict.kind is not None:
        await escalate(session, row, verdict.description, loop=verdict)
    return row


def _parties(row: Consultation) -> set[UUID]:
    return {row.requester_id} | ({row.specialist_id} if row.specialist_id else set())


async def _ask(
    session: AsyncSession,
    row: Consultation,
    requester: Agent,
    kind: ExchangeKind,
    text: str,
    uses: Uses,
    package: dict[str, Any],
) -> None:
    await add_exchange(
        session,
        row,
        uses=uses,
        kind=kind,
        author=requester.name,
        from_agent_id=requester.id,
        to_agent_id=row.specialist_id,
        task_id=row.task_id,
        content=text,
        package=package,
    )


async def _hold(session: AsyncSession, team_id: UUID, asking: Asking, draft: Draft) -> dict[UUID, Agent]:
    """Whoever may be chosen, and who asks: whatever their status is now stays so until this is done."""
    selected = draft.decision["selected_agent_id"]
    wanted = {asking.requester_id, *filter(None, (asking.suggested_agent_id, selected))}
    held = [await agents.lock(session, team_id, one) for one in sorted(wanted)]
    return {agent.id: agent for agent in held}


async def _depth(session: AsyncSession, team_id: UUID, task: Task | None) -> int:
    """How many consultations wait for each other with this one. Raises DelegationDepthExceeded when the whole chain of
    agents that the task is part of is too long."""
    if task is None:
        return 1
    chain = await chain_above(session, task)
    if len(chain) > MAX_DEPTH:
        raise DelegationDepthExceeded([*chain, "?"], MAX_DEPTH)
    above = await queries.asked_from(session, team_id, task.root_id)
    return 1 if above is None else above.depth + 1


async def _examine(
    session: AsyncSession, row: Consultation, text: str, prepared: Prepared, at: datetime, *, new: bool
) -> Verdict:
    """Under the requester's lock and in the team's turn, so that nobody asks in between."""
    said = Said(
        row.id, row.exchange_count + 1, ExchangeKind.QUESTION if new else ExchangeKind.CLARIFICATION, text, at,
        row.question,
    )  # fmt: skip
    circle = []
    if row.specialist_id is not None:
        circle = await circle_of(session, team_id=row.team_id, waiter_id=row.requester_id, awaited_id=row.specialist_id)
    return detect(
        said,
        await queries.history(session, row.requester_id, at),
        active=await queries.count_of(session, row.requester_id),
        circle=circle,
        alike=prepared.likeness,
    )


def _row(team_id: UUID, spec: ConsultationSpec, asking: Asking, chosen: Specialist, depth: int) -> Consultation:
    return Consultation(
        id=new_id(),
        team_id=team_id,
        requester_id=asking.requester_id,
        specialist_id=chosen.agent_id,
        suggested_agent_id=asking.suggested_agent_id,
        suggestion_followed=chosen.followed,
        chosen_because=chosen.because[:MAX_WHY],
        reason=spec.reason,
        urgency=spec.urgency,
        question=spec.question,
        given=spec.given.model_dump(mode="json"),
        depth=depth,
        asking_task_id=asking.start.task_id,
        status=ConsultationStatus.ESCALATED,
        exchange_count=0,
        loop_detected=False,
        tokens=0,
        cost=FREE,
    )
