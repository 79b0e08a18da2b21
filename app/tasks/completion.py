"""Completes claimed tasks: many in one transaction where their ends touch nothing else, else one at a time."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import func, select
from sqlalchemy.ext.asyncio import AsyncSession

from app.events.log import Actor
from app.tasks import outputs
from app.tasks.ending import EndedTask, end, end_untied
from app.tasks.failures import NOTHING, Failure, Usage
from app.tasks.models import OPEN, Task, TaskAttempt, TaskDependency, TaskStatus
from app.tasks.outputs import Checked
from app.tasks.redacting import without_secrets
from app.tasks.requeueing import fail_attempt, stopped_by_limits


@dataclass(frozen=True, slots=True)
class Completion:
    """What a run came to. `checked` is what an earlier check of the output against the task's contract found."""

    claim_token: UUID
    actor: Actor
    result: str
    output: dict[str, Any] | None = None
    artifacts: Sequence[str] = ()
    usage: Usage = NOTHING
    checked: Checked | None = None


@dataclass(frozen=True, slots=True)
class LockedRun:
    """A claimed task whose row is locked, its attempt, and the time."""

    task: Task
    attempt: TaskAttempt
    at: datetime


async def complete_all(session: AsyncSession, completions: Collection[Completion]) -> dict[UUID, Task]:
    """Returns the tasks by claim token. Left out: lost claims, and tasks whose end changes other tasks when they are
    not alone; those need a transaction of their own, or two batches could wait for each other."""
    by_token = {completion.claim_token: completion for completion in completions}
    rows = await session.execute(
        select(Task, TaskAttempt, func.clock_timestamp())
        .join(TaskAttempt, (TaskAttempt.task_id == Task.id) & (TaskAttempt.number == Task.attempts_made))
        .where(Task.claim_token.in_(by_token))
        .order_by(Task.id)
        .with_for_update(of=Task, key_share=True)
        .execution_options(populate_existing=True)
    )
    runs = [LockedRun(*row) for row in rows]
    tied = await _tied(session, [run.task for run in runs])
    if len(completions) > 1:
        runs = [run for run in runs if run.task.id not in tied]
    pairs = [(run, by_token[run.task.claim_token]) for run in runs if run.task.claim_token]
    await _complete(session, pairs, tied)
    return {completion.claim_token: run.task for run, completion in pairs}


async def complete_one(session: AsyncSession, run: LockedRun, completion: Completion) -> None:
    """Completes a task that the caller has locked. Late, over a limit or against its contract, it ends or is retried
    otherwise: see its status."""
    await _complete(session, [(run, completion)], await _tied(session, [run.task]))


async def _complete(
    session: AsyncSession, pairs: Sequence[tuple[LockedRun, Completion]], tied: Collection[UUID]
) -> None:
    untied = []
    for run, completion in pairs:
        task, at, actor = run.task, run.at, completion.actor
        stopped, cost = await stopped_by_limits(session, task, run.attempt, completion.usage, at, actor)
        if stopped:
            continue
        if (violation := await _violation(session, task, completion)) is not None:
            await fail_attempt(session, task, violation, at=at, actor=actor, cost=cost)
            continue
        _store_result(task, completion)
        if task.id in tied:
            await end(session, task, TaskStatus.COMPLETED, at=at, actor=actor, cost=cost)
        else:
            untied.append(EndedTask(task, run.attempt, at, actor, cost))
    await end_untied(session, untied)


async def _violation(session: AsyncSession, task: Task, completion: Completion) -> Failure | None:
    checked, output = completion.checked, completion.output
    if checked is None or not checked.counts_for(task, output):
        checked = await outputs.checked_now(session, task, output)
    return checked.violation


def _store_result(task: Task, completion: Completion) -> None:
    task.result = without_secrets(task, completion.result)
    task.output = without_secrets(task, completion.output)
    task.result_artifacts = without_secrets(task, list(completion.artifacts))
    task.error_code = task.error_message = None


async def _tied(session: AsyncSession, tasks: Collection[Task]) -> set[UUID]:
    """Those that other tasks depend on, or that have open subtasks."""
    teams, ids = {task.team_id for task in tasks}, [task.id for task in tasks]
    parents = select(Task.parent_id).where(Task.team_id.in_(teams), Task.parent_id.in_(ids), Task.status.in_(OPEN))
    needed = select(TaskDependency.needs_id).where(TaskDependency.needs_id.in_(ids))
    return {task_id for task_id in await session.scalars(parents.union_all(needed)) if task_id is not None}
