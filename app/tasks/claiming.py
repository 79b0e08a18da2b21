"""Claims due tasks: the next one of an agent that asks, or those whose jobs a worker has started."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from sqlalchemy import Float, Integer, Select, Uuid, and_, bindparam, column, func, select, update
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.sql.dml import ReturningUpdate

from app.agents.models import Agent, AgentRuntime, AgentStatus
from app.db.transaction import after_commit
from app.events.kinds import EventKind
from app.events.log import Actor
from app.follow_ups import service as follow_ups
from app.follow_ups.models import FollowUpKind
from app.tasks import attempts
from app.tasks.models import Task, TaskPurpose, TaskStatus, TaskType
from app.tasks.narration import tell

LEASE_S = range(5, 301)  # what an external agent may ask for


@dataclass(frozen=True, slots=True)
class JobClaim:
    """A worker's wish to run one attempt of a task. `job_id` is null when it runs without arq."""

    task_id: UUID
    attempt: int
    job_id: str | None = None


async def claim_next(
    session: AsyncSession,
    *,
    team_id: UUID,
    agent_id: UUID,
    types: Collection[TaskType] | None,
    lease_s: int,
    actor: Actor,
) -> Task | None:
    """Claims the agent's next due task, if any. Of many callers each task goes to one; a paused agent gets none."""
    due = _due().where(Task.team_id == team_id, Task.assignee_id == agent_id)
    if types is not None:
        due = due.where(Task.type.in_(types))
    statement = _start(due.order_by(Task.due_at, Task.id).limit(1))
    claimed = await _claim(session, statement, {"lease_s": lease_s}, actor=actor)
    return claimed[0] if claimed else None


async def claim_for_jobs(
    session: AsyncSession, claims: Sequence[JobClaim], *, lease_s: int, actor: Actor
) -> Mapping[UUID, Task]:
    """Claims the tasks of these jobs, by task id. Left out: what is not due, was claimed under this attempt before, or
    is being changed at this moment (the sweeper enqueues it again)."""
    parameters = {
        "task_ids": [claim.task_id for claim in claims],
        "attempts": [claim.attempt for claim in claims],
        "lease_s": lease_s,
    }
    job_ids = {claim.task_id: claim.job_id for claim in claims}
    claimed = await _claim(session, _START_OF_JOBS, parameters, actor=actor, job_ids=job_ids)
    return {task.id: task for task in claimed}


async def claim_locked(session: AsyncSession, task_id: UUID, *, lease_s: int, actor: Actor) -> Task:
    """Claims a pending task that the caller has locked, due or not."""
    parameters = {"task_id": task_id, "lease_s": lease_s}
    (task,) = await _claim(session, _START_OF_LOCKED, parameters, actor=actor)
    return task


async def _claim(
    session: AsyncSession,
    start: ReturningUpdate[Task],
    parameters: dict[str, Any],
    *,
    actor: Actor,
    job_ids: Mapping[UUID, str | None] | None = None,
) -> Sequence[Task]:
    """Gives tasks a claim and their next attempt, with one statement for each table however many they are."""
    options = {"populate_existing": True, "synchronize_session": False}
    tasks = list(await session.scalars(start, parameters, execution_options=options))
    for task in tasks:
        job_id = (job_ids or {}).get(task.id)
        attempts.open_attempt(session, task, job_id)
        tell(session, EventKind.TASK_CLAIMED, task, actor, attempt=task.attempts_made)
        if task.purpose is TaskPurpose.CONSULTATION:
            kind = FollowUpKind.CONSULTATION_TASK_STARTED
            follow_ups.schedule(session, kind, team_id=task.team_id, subject_id=task.id)
        if job_id is not None:
            after_commit(session).started_job_ids.append(job_id)
    return tasks


def _due() -> Select[UUID]:
    return (
        select(Task.id)
        .join(Agent, Agent.id == Task.assignee_id)
        .where(
            Task.status == TaskStatus.PENDING,
            Task.waiting_for == 0,
            Task.ready_at <= func.clock_timestamp(),
            Agent.status == AgentStatus.ACTIVE,
        )
        .with_for_update(of=Task, key_share=True, skip_locked=True)
    )


def _due_jobs() -> Select[UUID]:
    jobs = func.unnest(bindparam("task_ids", type_=ARRAY(Uuid)), bindparam("attempts", type_=ARRAY(Integer)))
    job = jobs.table_valued(column("task_id", Uuid), column("attempt", Integer)).render_derived(name="job")
    return (
        _due()
        .join(job, and_(job.c.task_id == Task.id, job.c.attempt == Task.attempts_made + 1))
        .where(Agent.runtime == AgentRuntime.MANAGED)
        .order_by(Task.id)
    )


def _start(locked: Select[UUID]) -> ReturningUpdate[Task]:
    tasks, at = locked.cte("locked"), func.clock_timestamp()
    lease = func.make_interval(0, 0, 0, 0, 0, 0, bindparam("lease_s", type_=Float))
    return (
        update(Task)
        .where(Task.id == tasks.c.id)
        .values(
            status=TaskStatus.IN_PROGRESS,
            claim_token=func.gen_random_uuid(),
            attempts_made=Task.attempts_made + 1,
            started_at=func.coalesce(Task.started_at, at),
            lease_until=at + lease,
            deadline=at + func.make_interval(0, 0, 0, 0, 0, 0, Task.timeout_s),
        )
        .returning(Task)
    )


# Built once: a worker waits for them, and SQLAlchemy takes longer to build one than Postgres to run it.
_START_OF_JOBS = _start(_due_jobs())
_START_OF_LOCKED = _start(select(Task.id).where(Task.id == bindparam("task_id", type_=Uuid)))
