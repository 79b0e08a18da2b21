"""Completes many tasks in one transaction: what costs each alone a round trip costs all together one."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from sqlalchemy import func, select
from sqlalchemy.ext.asyncio import AsyncSession

from app.budgets import service as budgets
from app.db.transaction import Bell, remember_bell
from app.events.kinds import EventKind
from app.events.log import Actor
from app.tasks import attempts
from app.tasks.ending import NO_COST, lock_all
from app.tasks.failures import Usage
from app.tasks.models import OPEN, AttemptOutcome, Task, TaskAttempt, TaskDependency, TaskStatus
from app.tasks.narration import end_of, tell


@dataclass(frozen=True, slots=True)
class Completion:
    claim_token: UUID
    actor: Actor
    result: str
    output: dict[str, Any] | None
    usage: Usage


async def complete_plain(session: AsyncSession, wanted: Collection[Completion]) -> set[UUID]:
    """Complete those that end in the plainest way: no contract, nothing open below them, nothing left to charge, time
    and tokens suffice. Answers their claims; all others are for `transitions.complete`."""
    asked = {one.claim_token: one for one in wanted}
    claimed = await session.execute(
        select(Task, TaskAttempt, func.clock_timestamp())
        .join(TaskAttempt, (TaskAttempt.task_id == Task.id) & (TaskAttempt.number == Task.attempts_made))
        .where(Task.claim_token.in_(asked))
        .order_by(Task.id)
        .with_for_update(of=Task, key_share=True)
        .execution_options(populate_existing=True)
    )
    found = [(task, attempt, at, asked[task.claim_token]) for task, attempt, at in claimed if task.claim_token]
    busy = await _with_open_work_below(session, [task for task, *_ in found])
    completed = set()
    ended = []
    for task, attempt, at, one in found:
        late = task.deadline is None or task.deadline <= at
        if (
            task.contract_id
            or task.id in busy
            or late
            or one.usage.cost > attempt.cost
            or one.usage.tokens > task.max_tokens
        ):
            continue
        await attempts.report(session, task, attempt, one.usage)
        attempts.close(attempt, AttemptOutcome.COMPLETED, at)
        task.result, task.output, task.result_artifacts = one.result, one.output, []
        task.error_code = task.error_message = None
        task.status, task.finished_at = TaskStatus.COMPLETED, at
        task.claim_token = task.lease_until = task.deadline = None
        tell(session, EventKind.TASK_COMPLETED, task, one.actor, **end_of(task))
        completed.add(one.claim_token)
        ended.append(task)
    await _free_dependants(session, ended)
    await session.flush()
    for depth in sorted({task.depth for task in ended}, reverse=True):
        await budgets.settle(session, {task.budget_id: NO_COST for task in ended if task.depth == depth})
    return completed


async def _with_open_work_below(session: AsyncSession, tasks: Collection[Task]) -> set[UUID | None]:
    teams, ids = {task.team_id for task in tasks}, [task.id for task in tasks]
    below = select(Task.parent_id).where(Task.team_id.in_(teams), Task.parent_id.in_(ids), Task.status.in_(OPEN))
    return set(await session.scalars(below))


async def _free_dependants(session: AsyncSession, ended: Collection[Task]) -> None:
    """What waits for several of them is freed of each."""
    needs = select(TaskDependency.task_id).where(TaskDependency.needs_id.in_([task.id for task in ended]))
    waiting = list(await session.scalars(needs))
    if not waiting:
        return
    for one in await lock_all(session, set(waiting)):
        if one.status is TaskStatus.PENDING:
            one.waiting_for -= waiting.count(one.id)
    remember_bell(session, Bell.WORK)
