"""What comes of a consultation: its answer, its end, what the requester thinks of it, and what the team remembers."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

import structlog
from sqlalchemy import func, select
from sqlalchemy.ext.asyncio import AsyncSession

from app.agents import service as agents
from app.agents.models import Agent
from app.consultations import queries, wording
from app.consultations.models import (
    Consultation,
    ConsultationLoop,
    ConsultationOutcome,
    ConsultationPhase,
    ConsultationStatus,
    ExchangeKind,
    LoopResolution,
)
from app.consultations.narration import tell
from app.consultations.record import FREE, add_exchange, add_uses
from app.consultations.spec import Answer, Rating
from app.errors import AppError, Conflict
from app.events.kinds import EventKind
from app.events.log import SYSTEM, Actor
from app.inference.sizes import tokens_of
from app.memories import service as memories
from app.memories.models import MemoryKind
from app.memories.service import Source
from app.routing import feedback
from app.tasks.models import Task
from app.teams import service as teams

log = structlog.get_logger(__name__)
POOR = 2  # stars up to which an answer is not worth remembering
_SUMMARY = 500  # characters
_IMPORTANCE = {3: 0.5, 4: 0.7, 5: 0.9}


async def answered(
    session: AsyncSession, row: Consultation, answer: Answer, *, author: str, actor: Actor, task: Task | None = None
) -> None:
    """A held consultation has its answer: from the specialist in its task, or from a person."""
    at: datetime = (await session.scalars(select(func.clock_timestamp()))).one()
    tokens, cost = (task.tokens_used, task.cost) if task else (tokens_of(answer.answer), FREE)
    exchange = await add_exchange(
        session,
        row,
        uses={ConsultationPhase.ANSWER: (tokens, Decimal(cost))},
        kind=ExchangeKind.RESPONSE,
        author=author,
        from_agent_id=task.assignee_id if task else None,
        to_agent_id=row.requester_id,
        task_id=task.id if task else None,
        content=answer.answer,
        additional_context=answer.additional_context,
        references=list(answer.references),
        next_steps=list(answer.suggested_next_steps),
    )
    add_uses(session, row, exchange, {ConsultationPhase.DELIVERY: (tokens_of(wording.delivered(exchange)), FREE)})
    if row.response_seconds is None:
        row.response_seconds = (at - row.created_at).total_seconds()
    row.status, row.finished_at, row.summary = ConsultationStatus.COMPLETED, at, answer.answer[:_SUMMARY]
    row.outcome = _outcome(row, by_agent=task is not None)
    row.successful = row.outcome is ConsultationOutcome.SUCCESSFUL
    await session.flush()
    told: dict[str, Any] = {"answer": answer.answer, "exchange": exchange.number, "outcome": row.outcome}
    tell(session, EventKind.CONSULTATION_ANSWERED, row, actor, answeredBy=author, **told)
    await remember(session, row, answered_by=author)


def _outcome(row: Consultation, *, by_agent: bool) -> ConsultationOutcome:
    if by_agent:
        return ConsultationOutcome.SUCCESSFUL
    return ConsultationOutcome.LOOP_DETECTED if row.loop_detected else ConsultationOutcome.ESCALATED


async def closed(session: AsyncSession, row: Consultation, why: str, actor: Actor) -> None:
    """A held consultation ends without an answer."""
    at = (await session.scalars(select(func.clock_timestamp()))).one()
    row.status, row.finished_at = ConsultationStatus.CLOSED, at
    row.outcome, row.successful, row.summary = ConsultationOutcome.CLOSED, False, why[:_SUMMARY]
    await session.flush()
    tell(session, EventKind.CONSULTATION_CLOSED, row, actor, reason=why)


async def resolve_loops(session: AsyncSession, row: Consultation, how: LoopResolution, notes: str) -> None:
    mine = select(ConsultationLoop).where(
        ConsultationLoop.consultation_id == row.id, ConsultationLoop.resolution == LoopResolution.ESCALATED
    )
    for loop in await session.scalars(mine.with_for_update()):
        loop.resolution, loop.notes = how, notes


async def remember(
    session: AsyncSession, row: Consultation, *, answered_by: str, importance: float = memories.USUAL_IMPORTANCE
) -> None:
    """Replaces what was remembered before. The two agents recall it, and later consultations quote it unless it was
    asked in a conversation. A full memory is no reason to lose an answer."""
    requester = await session.scalar(select(Agent.name).where(Agent.id == row.requester_id))
    said = await queries.exchanges(session, row.id)
    text = wording.remembered(row, said, requester=requester or "", specialist=answered_by)
    before = row.memory_id
    try:
        async with session.begin_nested():
            done = await memories.remember(
                session,
                team_id=row.team_id,
                kind=MemoryKind.PROCEDURAL,
                text=text,
                source=Source(row.task_id, consultation_id=row.id),
                actor=SYSTEM,
                importance=importance,
            )
    except AppError as refused:
        log.warning("a consultation was not remembered", consultation=str(row.id), error=refused.message)
        return
    row.memory_id = done.memory.id
    if before is not None and before != done.memory.id:
        await _forget(session, row.team_id, before)


async def _forget(session: AsyncSession, team_id: UUID, memory_id: UUID) -> None:
    try:
        await memories.forget(session, team_id=team_id, memory_id=memory_id, actor=SYSTEM)
    except AppError:  # somebody else made the team forget it
        return


async def rate(
    session: AsyncSession,
    *,
    team_id: UUID,
    consultation_id: UUID,
    requester_id: UUID | None,
    given: Rating,
    actor: Actor,
) -> Consultation:
    """Once, by the agent that asked. Routing learns from it; a poor answer is forgotten. Raises NotFound, Forbidden or
    Conflict."""
    await teams.share(session, team_id)
    seen = await queries.find(session, team_id=team_id, consultation_id=consultation_id)
    requester = await agents.lock(session, team_id, seen.requester_id)
    row = await queries.find(session, team_id=team_id, consultation_id=consultation_id, lock=True)
    queries.require_requester(row, requester_id)
    if row.status is not ConsultationStatus.COMPLETED:
        raise Conflict(f"This consultation is {row.status.value}. It can be rated once it is answered.")
    if row.rating is not None:
        raise Conflict(f"This consultation was rated already, with {row.rating}.")
    row.rating, row.lessons = given.rating, given.lessons or None
    await session.flush()
    tell(session, EventKind.CONSULTATION_RATED, row, actor, rating=row.rating, lessons=row.lessons)
    last = (await queries.exchanges(session, row.id))[-1]
    await _learn(session, row, last.from_agent_id, requester.name, actor)
    if given.rating > POOR:
        await remember(session, row, answered_by=last.author, importance=_IMPORTANCE[given.rating])
    elif row.memory_id is not None:
        await _forget(session, team_id, row.memory_id)
        row.memory_id = None
    return row


async def _learn(session: AsyncSession, row: Consultation, answered_by: UUID | None, rater: str, actor: Actor) -> None:
    """What routing chose is rated; where a person answered, or a suggestion or a person decided otherwise, it has
    nothing to learn."""
    if row.decision_id is None or answered_by is None or row.rating is None:
        return
    decision = await feedback.locked(session, row.team_id, row.decision_id)
    if answered_by in decision.selected_agent_ids:
        await feedback.rate(
            session,
            team_id=row.team_id,
            decision_id=decision.id,
            agent_id=answered_by,
            stars=row.rating,
            comment=row.lessons or "",
            rater=rater,
            actor=actor,
        )
