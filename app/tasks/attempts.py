"""Attempts: opened by a claim, told what they cost while they run, closed once."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from app.budgets import service as budgets
from app.tasks import claims
from app.tasks.failures import Failure, Usage
from app.tasks.models import AttemptOutcome, Task, TaskAttempt


async def current(session: AsyncSession, task: Task) -> TaskAttempt:
    """The attempt of a task that is in progress; whoever asks holds the task's row."""
    mine = (TaskAttempt.task_id == task.id) & (TaskAttempt.number == task.attempts_made)
    return (await session.scalars(select(TaskAttempt).where(mine).execution_options(populate_existing=True))).one()


async def report(session: AsyncSession, task: Task, attempt: TaskAttempt, usage: Usage) -> tuple[bool, Decimal]:
    """Take what the attempt has used so far; answers whether that is within the task's limits, and the cost that is
    still to be charged.

    What an agent's own program reports beyond the task's budget is kept apart as claimed: see `claims`.

    Reports are totals, so one that comes twice counts once and one that comes late takes nothing back. While the task
    is locked nothing new is reserved from its budget, so what is read of it here cannot become too little.
    """
    tokens = max(usage.tokens - attempt.tokens_used, 0)
    cost = max(usage.cost - attempt.cost - attempt.claimed_cost, Decimal(0))
    left = await budgets.left(session, task.budget_id) if cost else Decimal(0)
    affordable = cost <= left or not cost
    if not affordable and usage.self_reported:
        booked = max(left, Decimal(0))
        await claims.record_claim(session, task, attempt, cost - booked)
        cost = booked
    attempt.model = usage.model or attempt.model
    attempt.metadata_ = usage.metadata or attempt.metadata_
    attempt.tokens_used += tokens
    attempt.cost += cost
    task.tokens_used += tokens
    task.cost += cost
    return affordable and attempt.tokens_used <= task.max_tokens, cost


def close(attempt: TaskAttempt, outcome: AttemptOutcome, at: datetime, failure: Failure | None = None) -> None:
    attempt.outcome, attempt.ended_at = outcome, at
    if failure is not None:
        attempt.error_code, attempt.error_message = failure.code, failure.message
