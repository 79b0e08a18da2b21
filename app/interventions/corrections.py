"""Admins correct what a task cost; people decide on costs that were claimed beyond a budget."""

from __future__ import annotations

from decimal import Decimal
from uuid import UUID

from sqlalchemy import update
from sqlalchemy.ext.asyncio import AsyncSession

from app.attention import service as attention
from app.attention.models import AttentionItem
from app.budgets.corrections import correct_spent
from app.collaborations.models import CollaborationStage
from app.errors import InvalidInput, check_text
from app.events.kinds import EventKind
from app.events.log import Actor
from app.tasks.claims import BOOK, DISMISS
from app.tasks.locks import locked
from app.tasks.models import Task
from app.tasks.narration import tell
from app.teams import service as teams

MAX_REASON = 500
MAX_COST_USD = 1_000_000


async def correct_task_cost(
    session: AsyncSession, *, team_id: UUID, task_id: UUID, cost: Decimal, reason: str, actor: Actor
) -> Task:
    """Sets what the task itself cost, in its own account and in every account above it. Decides on a claimed cost, too.
    Raises InvalidInput or NotFound."""
    reason = check_text("reason", reason, least=1, most=MAX_REASON)
    if not 0 <= cost <= MAX_COST_USD or cost != round(cost, 6):
        raise InvalidInput.of("costUsd", f"must be 0 to {MAX_COST_USD:,} with at most 6 decimals")
    await teams.share(session, team_id)
    task, _ = await locked(session, team_id=team_id, task_id=task_id)
    option = BOOK if cost > task.cost else DISMISS
    await _set_cost(session, task, cost, reason, actor)
    await attention.close_of_claim(session, task.id, option=option, note=reason, actor=actor)
    return task


async def decide_claim(session: AsyncSession, item: AttentionItem, *, option: str, note: str, actor: Actor) -> None:
    """Books what was claimed, or drops it. Raises AlreadyAnswered."""
    assert item.task_id is not None
    await teams.share(session, item.team_id)
    task, _ = await locked(session, team_id=item.team_id, task_id=item.task_id)
    await attention.locked_open(session, team_id=item.team_id, item_id=item.id)
    cost = task.cost + task.claimed_cost if option == BOOK else task.cost
    await _set_cost(session, task, cost, note or f"The claimed cost: {option}.", actor)
    await attention.close_of_claim(session, task.id, option=option, note=note, actor=actor)


async def _set_cost(session: AsyncSession, task: Task, cost: Decimal, reason: str, actor: Actor) -> None:
    before, claimed, difference = task.cost, task.claimed_cost, cost - task.cost
    task.cost, task.claimed_cost = cost, Decimal(0)
    kind = EventKind.TASK_COST_CORRECTED
    tell(session, kind, task, actor, reason=reason, before=float(before), cost=float(cost), claimed=float(claimed))
    await session.flush()
    if not difference:
        return
    ended_stage = (CollaborationStage.task_id == task.root_id) & CollaborationStage.ended_at.is_not(None)
    of_stage = update(CollaborationStage).where(ended_stage)
    await session.execute(of_stage.values(cost=CollaborationStage.cost + difference))
    await correct_spent(session, account_id=task.budget_id, difference=difference, actor=actor)
