"""How a task ends, once, with everything that cannot go on without it.

Open work below it is cancelled, whatever depends on failed work fails with the reason, budgets are settled from the
leaves upwards, and what waited for completed work is freed. Tasks are locked in the order of their ids: what a task's
end touches was made after it, so two ends at once meet in the same order. No account is locked before the last task.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from app.attention import service as attention
from app.budgets import service as budgets
from app.db.transaction import WakeUp, enqueue_task_after_commit, wake_after_commit
from app.events.kinds import EventKind
from app.events.log import Actor
from app.follow_ups import service as follow_ups
from app.follow_ups.models import FollowUpKind
from app.tasks import attempts
from app.tasks.dependencies import dependants_of, doomed_by
from app.tasks.failures import PARENT_ENDED, Failure, dependency_failed
from app.tasks.locks import lock_all
from app.tasks.models import OPEN, AttemptOutcome, Task, TaskAttempt, TaskDependency, TaskPurpose, TaskStatus
from app.tasks.narration import end_of, tell
from app.tasks.redacting import without_secrets

NO_COST = Decimal(0)
_EVENT = {
    TaskStatus.COMPLETED: EventKind.TASK_COMPLETED,
    TaskStatus.FAILED: EventKind.TASK_FAILED,
    TaskStatus.TIMED_OUT: EventKind.TASK_TIMED_OUT,
    TaskStatus.CANCELLED: EventKind.TASK_CANCELLED,
}
_OUTCOME = {
    TaskStatus.COMPLETED: AttemptOutcome.COMPLETED,
    TaskStatus.FAILED: AttemptOutcome.FAILED,
    TaskStatus.TIMED_OUT: AttemptOutcome.TIMED_OUT,
    TaskStatus.CANCELLED: AttemptOutcome.CANCELLED,
}

# Who ordered the work goes on when it has ended.
_OWNER_FOLLOW_UP = {
    TaskPurpose.REPLY: FollowUpKind.REPLY_TASK_ENDED,
    TaskPurpose.STAGE: FollowUpKind.STAGE_TASK_ENDED,
    TaskPurpose.REPORT: FollowUpKind.REPORT_TASK_ENDED,
    TaskPurpose.CONSULTATION: FollowUpKind.CONSULTATION_TASK_ENDED,
}


async def end(
    session: AsyncSession,
    task: Task,
    status: TaskStatus,
    *,
    at: datetime,
    actor: Actor,
    failure: Failure | None = None,
    outcome: AttemptOutcome | None = None,
    cost: Decimal = NO_COST,
) -> None:
    """End a locked open task. `outcome` is the running attempt's, where it is not that of the status; `cost` is what
    it has cost since it was last charged."""
    completing = status is TaskStatus.COMPLETED
    if failure is not None:
        failure = replace(failure, message=without_secrets(task, failure.message))
    doomed, freed = await _lock_affected(session, task, failing=not completing, completing=completing)
    ended = await _end_doomed(session, task, doomed, at, actor, failure, failing=not completing)
    await mark(session, task, status, at, actor, failure, outcome)
    for one in freed:
        one.waiting_for -= 1
        enqueue_task_after_commit(session, one.id)
    await _account(session, task, cost, [*ended, task])


@dataclass(frozen=True, slots=True)
class EndedTask:
    """A locked task that completes, its running attempt, and what it has cost since it was last charged."""

    task: Task
    attempt: TaskAttempt
    at: datetime
    actor: Actor
    cost: Decimal = NO_COST


async def end_untied(session: AsyncSession, ended: Sequence[EndedTask]) -> None:
    """Completes locked tasks that no other task depends on and that have no open subtasks."""
    for one in ended:
        await mark(session, one.task, TaskStatus.COMPLETED, one.at, one.actor, None, attempt=one.attempt)
    await session.flush()
    for depth in sorted({one.task.depth for one in ended}, reverse=True):
        level = [one for one in ended if one.task.depth == depth]
        await budgets.settle(session, {one.task.budget_id: one.cost for one in level})


async def end_below(session: AsyncSession, task: Task, *, at: datetime, actor: Actor, cost: Decimal = NO_COST) -> None:
    """Cancel the open work below a locked task that itself goes on, and charge what it has cost."""
    doomed, _ = await _lock_affected(session, task, failing=False, completing=False)
    ended = await _end_doomed(session, task, doomed, at, actor, None, failing=False)
    await _account(session, task, cost, ended)


async def _lock_affected(
    session: AsyncSession, task: Task, *, failing: bool, completing: bool
) -> tuple[list[Task], list[Task]]:
    """What cannot go on and what is freed. Until nothing new is found: a task that was found may have delegated before
    it could be locked."""
    freed = await dependants_of(session, task.id) if completing else set()
    held: dict[UUID, Task] = {}
    seen: set[UUID] = set()
    doomed = await doomed_by(session, team_id=task.team_id, task_id=task.id, failing=failing)
    while new := (doomed | freed) - seen:
        seen |= new
        held |= {found.id: found for found in await lock_all(session, new) if found.status in OPEN}
        doomed |= await doomed_by(session, team_id=task.team_id, task_id=task.id, failing=failing)
    return (
        [one for one in held.values() if one.id in doomed],
        [one for one in held.values() if one.id not in doomed],
    )


async def _end_doomed(
    session: AsyncSession,
    task: Task,
    doomed: list[Task],
    at: datetime,
    actor: Actor,
    failure: Failure | None,
    *,
    failing: bool,
) -> list[Task]:
    """Cancel what stands below the task; fail what depends on that or, when the task itself fails, on the task."""
    below = _below(task, doomed)
    for one in sorted(below, key=lambda found: -found.depth):
        await mark(session, one, TaskStatus.CANCELLED, at, actor, PARENT_ENDED)
    reasons: dict[UUID, tuple[str, str | None]] = {one.id: (one.title, PARENT_ENDED.message) for one in below}
    if failing:
        reasons[task.id] = (task.title, failure.message if failure else None)
    await _fail_dependants(session, [one for one in doomed if one not in below], reasons, at, actor)
    return doomed


async def _account(session: AsyncSession, task: Task, cost: Decimal, ended: list[Task]) -> None:
    """After all tasks are locked: charge, then settle the deepest first, so that accounts are locked upwards."""
    await session.flush()
    if cost and task not in ended:
        await budgets.charge(session, task.budget_id, cost)
    for depth in sorted({one.depth for one in ended}, reverse=True):
        level = [one for one in ended if one.depth == depth]
        await budgets.settle(session, {one.budget_id: cost if one is task else NO_COST for one in level})


def _below(task: Task, doomed: list[Task]) -> list[Task]:
    found = {task.id}
    for one in sorted(doomed, key=lambda one: one.depth):
        if one.parent_id in found:
            found.add(one.id)
    return [one for one in doomed if one.id in found]


async def _fail_dependants(
    session: AsyncSession,
    waiting: list[Task],
    reasons: dict[UUID, tuple[str, str | None]],
    at: datetime,
    actor: Actor,
) -> None:
    """From the failed work outwards, so that each names the very task that it depended on."""
    edges = await session.execute(
        select(TaskDependency.task_id, TaskDependency.needs_id).where(
            TaskDependency.task_id.in_([one.id for one in waiting])
        )
    )
    needs: dict[UUID, list[UUID]] = {}
    for task_id, needs_id in edges:
        needs.setdefault(task_id, []).append(needs_id)
    left = waiting
    while ready := [one for one in left if any(found in reasons for found in needs.get(one.id, ()))]:
        for one in ready:
            cause = next(found for found in needs[one.id] if found in reasons)
            failure = dependency_failed(*reasons[cause])
            await mark(session, one, TaskStatus.FAILED, at, actor, failure)
            reasons[one.id] = (one.title, failure.message)
        left = [one for one in left if one not in ready]


async def mark(
    session: AsyncSession,
    task: Task,
    status: TaskStatus,
    at: datetime,
    actor: Actor,
    failure: Failure | None,
    outcome: AttemptOutcome | None = None,
    attempt: TaskAttempt | None = None,
) -> None:
    """Put down how a locked task ended. `attempt` is the running one, where the caller has read it."""
    if task.status is TaskStatus.IN_PROGRESS:
        attempt = attempt or await attempts.current(session, task)
        attempts.close(attempt, outcome or _OUTCOME[status], at, failure)
        if status is not TaskStatus.COMPLETED:
            wake_after_commit(session, WakeUp.JOBS)  # whoever runs it has to stop
    task.status, task.finished_at = status, at
    task.claim_token = task.lease_until = task.deadline = None
    if failure is not None:
        task.error_code, task.error_message = failure.code, failure.message
    tell(session, _EVENT[status], task, actor, **end_of(task))
    if task.waiting_for and status is not TaskStatus.COMPLETED:
        await attention.withdraw_of_task(session, task.id, actor=actor)
    if task.purpose is not TaskPurpose.DELEGATION:
        follow_ups.schedule(session, _OWNER_FOLLOW_UP[task.purpose], team_id=task.team_id, subject_id=task.id)
