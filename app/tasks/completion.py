"""Completes many tasks in one transaction: what costs each alone a round trip costs all together one."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from sqlalchemy import func, select
from sqlalchemy.ext.asyncio import AsyncSession

from app.budgets import service as budgets
from app.events.log import Actor
from app.tasks import attempts
from app.tasks.ending import NO_COST, mark
from app.tasks.failures import Usage
from app.tasks.models import OPEN, Task, TaskAttempt, TaskDependency, TaskStatus


@dataclass(frozen=True, slots=True)
class Completion:
    claim_token: UUID
    actor: Actor
    result: str
    output: dict[str, Any] | None
    usage: Usage


async def complete_plain(session: AsyncSession, wanted: Collection[Completion]) -> set[UUID]:
    """Complete those that end in the plainest way: no contract, nothing to take out, nobody waits for them, nothing is
    open below them or left to charge, time and tokens suffice. Answers their claims; all others are for
    `transitions.complete`.

    So no other task is locked than these, all at once and by id, and two batches cannot wait for each other.
    """
    asked = {one.claim_token: one for one in wanted}
    claimed = await session.execute(
        select(Task, TaskAttempt, func.clock_timestamp())
        .join(TaskAttempt, (TaskAttempt.task_id == Task.id) & (TaskAttempt.number == Task.attempts_made))
        .where(Task.claim_token.in_(asked), Task.contract_id.is_(None), Task.output_schema.is_(None))
        .where(Task.redacts.is_(None))
        .order_by(Task.id)
        .with_for_update(of=Task, key_share=True)
        .execution_options(populate_existing=True)
    )
    found = [(task, attempt, at, asked[task.claim_token]) for task, attempt, at in claimed if task.claim_token]
    tied = await _tied(session, [task for task, *_ in found])
    ended = {}
    for task, attempt, at, one in found:
        late = task.deadline is None or task.deadline <= at
        if task.id in tied or late or one.usage.cost > attempt.cost or one.usage.tokens > task.max_tokens:
            continue
        await attempts.report(session, task, attempt, one.usage)
        task.result, task.output, task.result_artifacts = one.result, one.output, []
        task.error_code = task.error_message = None
        await mark(session, task, TaskStatus.COMPLETED, at, one.actor, None, attempt=attempt)
        ended[one.claim_token] = task
    await session.flush()
    for depth in sorted({task.depth for task in ended.values()}, reverse=True):
        await budgets.settle(session, {task.budget_id: NO_COST for task in ended.values() if task.depth == depth})
    return set(ended)


async def _tied(session: AsyncSession, tasks: Collection[Task]) -> set[UUID | None]:
    """Those that others wait for, or that have open work below them."""
    teams, ids = {task.team_id for task in tasks}, [task.id for task in tasks]
    below = select(Task.parent_id).where(Task.team_id.in_(teams), Task.parent_id.in_(ids), Task.status.in_(OPEN))
    awaited = select(TaskDependency.needs_id).where(TaskDependency.needs_id.in_(ids))
    return set(await session.scalars(below.union_all(awaited)))
