"""Every change of a session: one function each, under its row lock. A session goes on when one of its tasks ends."""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from app.budgets import service as budgets
from app.budgets.caps import caps_of
from app.collaborations.asking import ask_people
from app.collaborations.deciding import (
    Decision,
    agents_named,
    decided,
    due_decisions,
    settle,
    spare_optional,
    take_decisions,
)
from app.collaborations.ending import end
from app.collaborations.held import Held, hold, require_open
from app.collaborations.models import (
    Collaboration,
    CollaborationStage,
    CollaborationStatus,
    FailureDecision,
    StageKind,
)
from app.collaborations.narration import tell
from app.collaborations.ordering import CannotPay, fail_unordered, order_all, unavailable
from app.collaborations.outcomes import absorb
from app.collaborations.patterns.state import Fail, Finish, Orders, Step, Synthesize
from app.collaborations.spec import MOST_DURATION_S, Extension
from app.collaborations.steps import next_step
from app.config import Settings
from app.errors import Conflict, Forbidden, InvalidInput, NotFound
from app.events.kinds import EventKind
from app.events.log import SYSTEM, Actor
from app.follow_ups import service as follow_ups
from app.follow_ups.models import FollowUpKind
from app.tasks.models import Task
from app.teams.flags import FeatureFlag, require


async def advance(session: AsyncSession, *, team_id: UUID, task_id: UUID, settings: Settings) -> None:
    """A stage's task has ended: take over what came of it and start what comes next. Of many ends at once each is
    taken over once, by whoever comes first; the others find nothing left to do."""
    of_task = select(Task.collaboration_id).where(Task.team_id == team_id, Task.id == task_id)
    collaboration_id = await session.scalar(of_task)
    if collaboration_id is None:
        return
    held = await hold(session, team_id, collaboration_id, also=await agents_named(session, team_id, task_id))
    if not held.is_open or not (await absorb(session, held, SYSTEM) or decided(held)):
        return
    if held.row.deadline <= held.at:
        await _time_out(session, held)
        return
    await spare_optional(session, held)
    if aborted := await take_decisions(session, held):
        await end(session, held, CollaborationStatus.FAILED, SYSTEM, code="ABORTED", reason=aborted)
    else:
        await proceed(session, held, settings, SYSTEM)


async def deadline_passed(session: AsyncSession, team_id: UUID, collaboration_id: UUID) -> None:
    """Its time was over when this was asked for; it may have been given more since, or have ended."""
    held = await hold(session, team_id, collaboration_id)
    if held.is_open and held.row.deadline <= held.at:
        await absorb(session, held, SYSTEM)
        await _time_out(session, held)


async def cancel(
    session: AsyncSession, *, team_id: UUID, collaboration_id: UUID, reason: str, actor: Actor, agent_id: UUID | None
) -> Collaboration:
    """Stop an open session with all its work. `agent_id`: the caller acts as this agent, who must lead it."""
    held = await hold(session, team_id, collaboration_id)
    _require_lead(held, agent_id)
    require_open(held)
    await absorb(session, held, actor)
    reason = reason or "It was cancelled."
    await end(session, held, CollaborationStatus.CANCELLED, actor, code="CANCELLED", reason=reason)
    return held.row


async def extend(
    session: AsyncSession, *, team_id: UUID, collaboration_id: UUID, more: Extension, settings: Settings, actor: Actor
) -> Collaboration:
    """Give an open session more time, or more of the team's money; raises BudgetExhausted."""
    held = await hold(session, team_id, collaboration_id)
    require(FeatureFlag.COLLABORATION, settings.flags, held.team.flags)
    require_open(held)
    row = held.row
    if more.seconds is None and more.cost_usd is None:
        raise InvalidInput.of("seconds", "or costUsd is needed")
    if more.seconds is not None:
        _give_time(session, row, more.seconds)
    if more.cost_usd is not None:
        row.max_cost += more.cost_usd
        await session.flush()
        caps = caps_of(held.team, settings)
        await budgets.enlarge(session, account_id=row.budget_id, amount=more.cost_usd, caps=caps)
    told = {"deadline": row.deadline.isoformat(), "maxCostUsd": float(row.max_cost)}
    tell(session, EventKind.COLLABORATION_EXTENDED, row, actor, **told)
    return row


def _give_time(session: AsyncSession, row: Collaboration, seconds: int) -> None:
    if row.max_duration_s + seconds > MOST_DURATION_S:
        raise InvalidInput.of("seconds", f"would make more than {MOST_DURATION_S:,} in all")
    row.max_duration_s += seconds
    row.deadline += timedelta(seconds=seconds)
    ask_deadline(session, row)


def ask_deadline(session: AsyncSession, row: Collaboration) -> None:
    follow_ups.schedule(
        session,
        FollowUpKind.SESSION_DEADLINE,
        team_id=row.team_id,
        subject_id=row.id,
        due_at=row.deadline,
    )


async def decide(
    session: AsyncSession,
    *,
    team_id: UUID,
    stage_id: UUID,
    decision: FailureDecision,
    to_agent_id: UUID | None,
    reason: str,
    settings: Settings,
    actor: Actor,
    agent_id: UUID | None,
) -> Collaboration:
    """Say what becomes of a stage that failed: another attempt, another agent, or the end of the session."""
    mine = select(CollaborationStage.collaboration_id).where(CollaborationStage.team_id == team_id)
    collaboration_id = await session.scalar(mine.where(CollaborationStage.id == stage_id))
    if collaboration_id is None:
        raise NotFound("There is no such stage in this team.")
    held = await hold(session, team_id, collaboration_id, also=[to_agent_id] if to_agent_id else [])
    require(FeatureFlag.COLLABORATION, settings.flags, held.team.flags)
    _require_lead(held, agent_id)
    require_open(held)
    stage = next((one for one in held.failed() if one.id == stage_id), None)
    if stage is None:
        raise Conflict("There is nothing to decide: the stage has not failed, or it was decided on already.")
    aborted = await settle(session, held, stage, Decision(decision, reason, to_agent_id), actor)
    if aborted:
        await end(session, held, CollaborationStatus.FAILED, actor, code="ABORTED", reason=aborted)
    else:
        await proceed(session, held, settings, actor)
    return held.row


def _require_lead(held: Held, agent_id: UUID | None) -> None:
    if agent_id is not None and agent_id != held.row.lead_id:
        raise Forbidden(
            "This key acts as one agent and may do this only in sessions that this agent leads.",
            permission="CONTROL_COLLABORATIONS",
            roles=[],
        )


async def proceed(session: AsyncSession, held: Held, settings: Settings, actor: Actor) -> None:
    """Do what the pattern says next, and again while stages fail at once because their agents are away."""
    while True:
        step = _next(held)
        orders = step.orders if isinstance(step, Orders) else (step.order,) if isinstance(step, Synthesize) else ()
        away = unavailable(held, orders)
        if not away:
            break
        for order in away:
            fail_unordered(session, held, order, actor)
    await _do(session, held, step, settings, actor)
    await ask_people(session, held)


def _next(held: Held) -> Step:
    row = held.row
    return next_step(row.pattern, row.template, held.state(), failed=held.failures(), on_failure=row.on_failure)


async def _do(session: AsyncSession, held: Held, step: Step, settings: Settings, actor: Actor) -> None:
    row = held.row
    if isinstance(step, Finish):
        row.agreement, row.converged = step.agreement, step.converged
        await end(session, held, CollaborationStatus.COMPLETED, actor, result=step.output)
        return
    if await budgets.spent(session, row.budget_id) >= row.max_cost:
        await _out_of_money(session, held, actor)
        return
    if isinstance(step, Fail):
        await end(
            session, held, CollaborationStatus.FAILED, actor, code=step.code, reason=step.reason, result=step.output
        )
        return
    asked = await due_decisions(session, held)
    orders, later = (step.orders, step.later) if isinstance(step, Orders) else ((), 1)
    orders = (*orders, *([step.order] if isinstance(step, Synthesize) else []), *asked)
    if not orders:
        return
    if isinstance(step, Orders | Synthesize):
        row.status = _status(step)
    try:
        await order_all(session, held, orders, later=later, settings=settings, actor=actor)
    except CannotPay:
        await _out_of_money(session, held, actor)


def _status(step: Orders | Synthesize) -> CollaborationStatus:
    if isinstance(step, Synthesize):
        return CollaborationStatus.SYNTHESIZING
    planning = all(order.kind is StageKind.PLAN for order in step.orders)
    return CollaborationStatus.PLANNING if planning else CollaborationStatus.ACTIVE


async def _out_of_money(session: AsyncSession, held: Held, actor: Actor) -> None:
    reason = f"The session may cost {held.row.max_cost:f} USD (maxCostUsd), and that is spent. What was made is kept."
    await end(session, held, CollaborationStatus.FAILED, actor, code="COST_LIMIT", reason=reason)


async def _time_out(session: AsyncSession, held: Held) -> None:
    reason = f"The session may take {held.row.max_duration_s} seconds (maxDurationSeconds). What was made is kept."
    await end(session, held, CollaborationStatus.TIMED_OUT, SYSTEM, code="TIME_LIMIT", reason=reason)
