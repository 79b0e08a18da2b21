"""How a task ends, once, with everything that cannot go on without it.

Open work below it is cancelled, whatever depends on failed work fails with the reason, budgets are settled from the
leaves upwards, and what waited for completed work is freed. Tasks are locked in the order of their ids: what a task's
end touches was made after it, so two ends at once meet in the same order.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from app.budgets import service as budgets
from app.events.kinds import EventKind
from app.events.log import Actor
from app.tasks import attempts
from app.tasks.dependencies import doomed_by, free_dependants
from app.tasks.failures import PARENT_ENDED, Failure, dependency_failed
from app.tasks.models import OPEN, AttemptOutcome, Task, TaskDependency, TaskStatus
from app.tasks.narration import tell

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


async def end(
    session: AsyncSession,
    task: Task,
    status: TaskStatus,
    *,
    at: datetime,
    actor: Actor,
    failure: Failure | None = None,
    outcome: AttemptOutcome | None = None,
) -> None:
    """End a locked open task. `outcome` is the running attempt's, where it is not that of the status."""
    await end_below(session, task, at=at, actor=actor, failure=failure, failing=status is not TaskStatus.COMPLETED)
    await _end_one(session, task, status, at, actor, failure, outcome)
    if status is TaskStatus.COMPLETED:
        await session.flush()
        await free_dependants(session, task.id)


async def end_below(
    session: AsyncSession,
    task: Task,
    *,
    at: datetime,
    actor: Actor,
    failure: Failure | None = None,
    failing: bool = False,
) -> None:
    """Cancel the open work below a locked task and, when the task itself fails, fail what depends on it."""
    doomed = await _lock_doomed(session, task, failing)
    below = _below(task, doomed)
    for one in sorted(below, key=lambda found: -found.depth):
        await _end_one(session, one, TaskStatus.CANCELLED, at, actor, PARENT_ENDED)
    reasons: dict[UUID, tuple[str, str | None]] = {one.id: (one.title, PARENT_ENDED.message) for one in below}
    if failing:
        reasons[task.id] = (task.title, failure.message if failure else None)
    await _fail_dependants(session, [one for one in doomed if one not in below], reasons, at, actor)


async def _lock_doomed(session: AsyncSession, task: Task, failing: bool) -> list[Task]:
    """Until nothing new is found: a task that was found may have delegated before it could be locked."""
    held: dict[UUID, Task] = {}
    seen: set[UUID] = set()
    while new := await doomed_by(session, team_id=task.team_id, task_id=task.id, failing=failing) - seen:
        seen |= new
        for found in await lock_all(session, new):
            if found.status in OPEN:
                held[found.id] = found
    return list(held.values())


async def lock_all(session: AsyncSession, ids: Collection[UUID]) -> list[Task]:
    statement = select(Task).where(Task.id.in_(ids)).order_by(Task.id).with_for_update(key_share=True)
    return list(await session.scalars(statement.execution_options(populate_existing=True)))


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
            await _end_one(session, one, TaskStatus.FAILED, at, actor, failure)
            reasons[one.id] = (one.title, failure.message)
        left = [one for one in left if one not in ready]


async def _end_one(
    session: AsyncSession,
    task: Task,
    status: TaskStatus,
    at: datetime,
    actor: Actor,
    failure: Failure | None,
    outcome: AttemptOutcome | None = None,
) -> None:
    if task.status is TaskStatus.IN_PROGRESS:
        attempt = await attempts.current(session, task)
        attempts.close(attempt, outcome or _OUTCOME[status], at, failure)
    task.status, task.finished_at = status, at
    task.claim_token = task.lease_until = task.deadline = None
    told = {}
    if failure is not None:
        task.error_code, task.error_message = failure.code, failure.message
        told = {"errorCode": failure.code, "error": failure.message[:500]}
    await session.flush()
    await budgets.settle(session, task.budget_id)
    tell(session, _EVENT[status], task, actor, **told)
