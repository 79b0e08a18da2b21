"""Costs that an agent's own program reports beyond its task's budget: claimed, not booked, until a person decides."""

from __future__ import annotations

from decimal import Decimal

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from app.attention import service as attention
from app.attention.models import AttentionItem, AttentionKind, AttentionState
from app.attention.service import Subject
from app.events.log import SYSTEM
from app.tasks.models import Task, TaskAttempt

BOOK, DISMISS = "book", "dismiss"


async def record_claim(session: AsyncSession, task: Task, attempt: TaskAttempt, amount: Decimal) -> None:
    """Records the claim on a locked task and asks a person, once for each open question."""
    attempt.claimed_cost += amount
    task.claimed_cost += amount
    if await _is_asked(session, task):
        return
    attention.open_item(
        session,
        AttentionKind.COST_CLAIM,
        team_id=task.team_id,
        title=f"A cost of {amount:f} USD was reported beyond the budget of '{task.title}'"[:200],
        detail=(
            "The task's budget is spent. What its agent reported beyond it (claimedCost) is in no budget. "
            f"'{BOOK}' adds it to the task's cost and to the team's budgets, '{DISMISS}' drops it; "
            "correctTaskCost sets any other amount."
        ),
        options=(BOOK, DISMISS),
        subject=Subject(task_id=task.id, conversation_id=task.conversation_id),
        agent_id=task.assignee_id,
        actor=SYSTEM,
    )


async def _is_asked(session: AsyncSession, task: Task) -> bool:
    claims = (AttentionItem.task_id == task.id) & (AttentionItem.kind == AttentionKind.COST_CLAIM)
    open_item = select(AttentionItem.id).where(claims, AttentionItem.state == AttentionState.OPEN)
    return await session.scalar(open_item.limit(1)) is not None
