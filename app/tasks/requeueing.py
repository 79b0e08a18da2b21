"""Attempts that end before their task is done: it is pending again, at once, after a wait or when what it waits for has
come. Or it was the last attempt, and the task ends."""

from __future__ import annotations

import random
from dataclasses import replace
from datetime import datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from app.db.transaction import WakeUp, enqueue_task_after_commit, wake_after_commit
from app.events.kinds import EventKind
from app.events.log import SYSTEM, Actor
from app.observability import metrics
from app.tasks import attempts, dead_letters
from app.tasks.ending import NO_COST, end, end_below
from app.tasks.failures import TIMED_OUT, Failure, Usage, over_limit
from app.tasks.locks import held
from app.tasks.models import AttemptOutcome, Task, TaskAttempt, TaskPurpose, TaskStatus
from app.tasks.narration import tell, used
from app.tasks.redacting import without_secrets
from app.tasks.retry_policy import retry_after


async def release(session: AsyncSession, *, team_id: UUID, task_id: UUID, claim_token: UUID, actor: Actor) -> None:
    """Give a claimed task back unfinished, at once and without counting the attempt: whoever ran it has to stop."""
    task, _, at = await held(session, team_id=team_id, task_id=task_id, claim_token=claim_token)
    await take_back(session, task, at=at, actor=actor, outcome=AttemptOutcome.RELEASED, failure=None)
    task.ready_at = at
    task.attempts_allowed += 1
    requeued(session, task, actor, reason="The worker that ran it stops.")


async def put_aside(
    session: AsyncSession, task: Task, attempt: TaskAttempt, *, at: datetime, actor: Actor, usage: Usage
) -> bool:
    """A held task waits for something outside: pending at no cost of an attempt, and not to be claimed before
    `take_up_again`. False: it was past its time or its limits and has ended instead."""
    stopped, cost = await stopped_by_limits(session, task, attempt, usage, at, actor)
    if stopped:
        return False
    await take_back(session, task, at=at, actor=actor, outcome=AttemptOutcome.RELEASED, failure=None, cost=cost)
    task.waiting_for += 1
    task.attempts_allowed += 1
    tell(session, EventKind.TASK_PUT_ASIDE, task, actor, attempt=task.attempts_made, **used(task))
    return True


def take_up_again(session: AsyncSession, task: Task, *, at: datetime, actor: Actor, reason: str) -> None:
    """What a locked task was put aside for has come."""
    if task.status is TaskStatus.PENDING and task.waiting_for:
        task.waiting_for, task.ready_at = task.waiting_for - 1, at
        requeued(session, task, actor, reason=reason)


async def take_back(
    session: AsyncSession,
    task: Task,
    *,
    at: datetime,
    actor: Actor,
    outcome: AttemptOutcome,
    failure: Failure | None,
    cost: Decimal = NO_COST,
) -> None:
    """From in progress to pending: the claim counts no more, and what the attempt had delegated is cancelled."""
    await end_below(session, task, at=at, actor=actor, cost=cost)
    attempts.close(await attempts.current(session, task), outcome, at, failure)
    task.status = TaskStatus.PENDING
    task.claim_token = task.lease_until = task.deadline = None


async def stopped_by_limits(
    session: AsyncSession, task: Task, attempt: TaskAttempt, usage: Usage, at: datetime, actor: Actor
) -> tuple[bool, Decimal]:
    """Whether the task had to be ended, being past its time or its limits; and the cost that is still to be charged."""
    within, cost = await attempts.report(session, task, attempt, usage)
    if task.deadline is not None and task.deadline <= at:
        await end(session, task, TaskStatus.TIMED_OUT, at=at, actor=SYSTEM, failure=TIMED_OUT, cost=cost)
        return True, NO_COST
    if not within:
        tokens = attempt.tokens_used > task.max_tokens
        what = f"{attempt.tokens_used} of {task.max_tokens} tokens (maxTokens)" if tokens else "its budget (budgetUsd)"
        await fail_attempt(session, task, over_limit(what), at=at, actor=actor, cost=cost)
        return True, NO_COST
    return False, cost


async def fail_attempt(
    session: AsyncSession,
    task: Task,
    failure: Failure,
    *,
    at: datetime,
    actor: Actor,
    outcome: AttemptOutcome = AttemptOutcome.FAILED,
    cost: Decimal = NO_COST,
) -> None:
    """Try again after a wait when that may help, else fail for good."""
    failure = replace(failure, message=without_secrets(task, failure.message))
    again = retry_after(
        code=failure.code,
        may_pass=failure.may_pass,
        made=task.attempts_made,
        allowed=task.attempts_allowed,
        chance=random.random(),
        asked=failure.wait,
        waits=task.waits,
    )
    if again is None:
        await end(session, task, TaskStatus.FAILED, at=at, actor=actor, failure=failure, outcome=outcome, cost=cost)
        await bury(session, task, failure, actor)
        return
    await take_back(session, task, at=at, actor=actor, outcome=outcome, failure=failure, cost=cost)
    metrics.TASKS_RETRIED.inc()
    task.ready_at = at + again.wait
    task.attempts_allowed += again.free
    task.waits += again.free
    requeued(session, task, actor, errorCode=failure.code, error=failure.message)


async def bury(session: AsyncSession, task: Task, failure: Failure, actor: Actor) -> None:
    """A person decides on what failed for good; on an agent's own work whoever ordered it does."""
    if task.purpose is TaskPurpose.DELEGATION:
        metrics.TASKS_DEAD.inc()
        await dead_letters.open_letter(session, task, failure, actor)


def requeued(session: AsyncSession, task: Task, actor: Actor, **why: Any) -> None:
    """Tells that a task is pending again, from when on, and enqueues its next attempt."""
    told = {"attempt": task.attempts_made, "readyAt": task.ready_at.isoformat(), **why}
    tell(session, EventKind.TASK_REQUEUED, task, actor, **told)
    wake_after_commit(session, WakeUp.JOBS)  # whoever ran it has to stop
    enqueue_task_after_commit(session, task.id)
