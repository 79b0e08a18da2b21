"""Orders the stages that a pattern asks for: a task for each, paid by the session."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import ROUND_DOWN, Decimal

from sqlalchemy.ext.asyncio import AsyncSession

from app.agents.models import AgentStatus
from app.budgets import service as budgets
from app.budgets.service import CENT
from app.collaborations.held import Held
from app.collaborations.models import Collaboration, CollaborationStage, ParticipantStatus, StageKind, StageStatus
from app.collaborations.narration import end_of, tell_stage
from app.collaborations.patterns.state import Order
from app.collaborations.wording import Goal, Source, brief, said
from app.config import Settings
from app.events.kinds import EventKind
from app.events.log import Actor
from app.ids import new_id
from app.tasks.assignment import Assignment, assign
from app.tasks.models import Task, TaskPurpose
from app.tasks.spec import TaskSpec


class CannotPay(Exception):
    """Nothing is left of the session's budget for a stage."""


async def order_all(
    session: AsyncSession, held: Held, orders: Sequence[Order], *, later: int, settings: Settings, actor: Actor
) -> None:
    """Every agent is active: see `unavailable`. Each stage may spend an equal share of what is left, and something
    stays for about `later` more; what a stage does not spend comes back. Raises CannotPay before anything is ordered.
    """
    left = await budgets.left(session, held.row.budget_id)
    share = (left / (len(orders) + later)).quantize(CENT, ROUND_DOWN)
    if share <= 0:
        raise CannotPay
    for order in orders:
        await _order(session, held, order, share, settings, actor)
    held.row.round = max(held.row.round, *(order.round for order in orders))
    held.row.current_stage = orders[0].name[:120]


def unavailable(held: Held, orders: Sequence[Order]) -> list[Order]:
    """Those whose agent takes no work now."""
    return [one for one in orders if held.agents[held.seat(one.slot).agent_id].status is not AgentStatus.ACTIVE]


def fail_unordered(session: AsyncSession, held: Held, order: Order, actor: Actor) -> None:
    """A stage whose agent is paused or archived fails without a task, so that somebody can decide on it."""
    agent = held.agents[held.seat(order.slot).agent_id]
    stage = _stage(held, order, StageStatus.FAILED)
    stage.ended_at = held.at
    stage.error_code, stage.error_message = "AGENT_UNAVAILABLE", f"{agent.name} is {agent.status.value}."
    _seat(session, held, stage, ParticipantStatus.FAILED)
    tell_stage(session, EventKind.COLLABORATION_STAGE_FAILED, held.row, stage, actor, **end_of(stage))


async def _order(
    session: AsyncSession, held: Held, order: Order, amount: Decimal, settings: Settings, actor: Actor
) -> None:
    row, seat = held.row, held.seat(order.slot)
    goal = Goal(row.goal, row.context, tuple(row.options), row.template, row.work_timeout_s, row.review_timeout_s)
    wanted = brief(order, goal, seat.instructions, _sources(held, order), spared=_spared(held, order))
    task = await assign(
        session,
        team_id=row.team_id,
        wanted=Assignment(
            purpose=TaskPurpose.STAGE,
            spec=TaskSpec(**wanted.fields, budget_usd=amount, tools=_tools(row)),
            assignee_id=seat.agent_id,
            on_behalf_of=row.on_behalf_of,
            budget_id=row.budget_id,
            agents=row.allowed_agents,
            collaboration_id=row.id,
            output_schema=wanted.output_schema,
            contract=wanted.contract,
            contract_input=wanted.contract_input,
            origin=await session.get(Task, row.origin_task_id) if row.origin_task_id else None,
            # What an agent planned for the stage is its output, in which no directive counts.
            directives=row.obeys_directives and not order.ask,
        ),
        settings=settings,
        actor=actor,
    )
    stage = _stage(held, order, StageStatus.WORKING)
    stage.task_id = task.id
    _seat(session, held, stage, ParticipantStatus.WORKING)
    tell_stage(session, EventKind.COLLABORATION_STAGE_STARTED, row, stage, actor)


def _tools(row: Collaboration) -> tuple[str, ...] | None:
    return None if row.allowed_tools is None else tuple(row.allowed_tools)


def _stage(held: Held, order: Order, status: StageStatus) -> CollaborationStage:
    tries = sum((one.kind, one.round, one.part) == order.key for one in held.stages)
    return CollaborationStage(
        id=new_id(),
        team_id=held.row.team_id,
        collaboration_id=held.row.id,
        kind=order.kind,
        name=order.name[:120],
        round=order.round,
        part=order.part,
        attempt=tries + 1,
        position=len(held.stages) + 1,
        slot=order.slot,
        agent_id=held.seat(order.slot).agent_id,
        status=status,
        superseded=False,
        output="",
        tokens_used=0,
        cost=Decimal(0),
        duration_s=0.0,
        started_at=held.at,
    )


def _seat(session: AsyncSession, held: Held, stage: CollaborationStage, status: ParticipantStatus) -> None:
    session.add(stage)
    held.stages.append(stage)
    held.seat(stage.slot).status = status


def _spared(held: Held, order: Order) -> str | None:
    """How far a review had come when its time ran out; None unless it is done again for that."""
    before = [one for one in held.stages if (one.kind, one.round, one.part) == order.key]
    late = [one for one in before if order.kind is StageKind.REVIEW and one.status is StageStatus.TIMED_OUT]
    return late[-1].output if late else None


def _sources(held: Held, order: Order) -> list[Source]:
    found = [held.find(key) for key in order.reads]
    return [
        Source(held.agents[one.agent_id].name, one.name, one.round, said(one.kind, one.output, one.data), one.data)
        for one in found
        if one is not None
    ]
