"""Claims due tasks: the next one of an agent that asks, or those whose jobs a worker has started."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import ColumnElement, Integer, Select, Uuid, and_, column, func, select, update, values
from sqlalchemy.ext.asyncio import AsyncSession

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
    due = _due_ids().where(Task.team_id == team_id, Task.assignee_id == agent_id)
    if types is not None:
        due = due.where(Task.type.in_(types))
    task_ids = list(await session.scalars(due.order_by(Task.due_at, Task.id).limit(1)))
    claimed = await start_attempts(session, task_ids, lease_s=lease_s, actor=actor)
    return claimed[0] if claimed else None


async def claim_for_jobs(
    session: AsyncSession, claims: Sequence[JobClaim], *, lease_s: int, actor: Actor
) -> Mapping[UUID, Task]:
    """Claims the tasks of these jobs, by task id. Left out: what is not due, was claimed under this attempt before, or
    is being changed at this moment (the sweeper enqueues it again)."""
    jobs = values(column("task_id", Uuid), column("attempt", Integer), name="job").data(
        [(claim.task_id, claim.attempt) for claim in claims]
    )
    due = (
        _due_ids()
        .join(jobs, and_(jobs.c.task_id == Task.id, jobs.c.attempt == Task.attempts_made + 1))
        .where(Agent.runtime == AgentRuntime.MANAGED)
        .order_by(Task.id)
    )
    job_ids = {claim.task_id: claim.job_id for claim in claims}
    claimed = await start_attempts(
        session, list(await session.scalars(due)), lease_s=lease_s, actor=actor, job_ids=job_ids
    )
    return {task.id: task for task in claimed}


def _due_ids() -> Select[UUID]:
    return (
        select(Task.id)
        .join(Agent, Agent.id == Task.assignee_id)
        .where(is_due(), Agent.status == AgentStatus.ACTIVE)
        .with_for_update(of=Task, key_share=True, skip_locked=True)
    )


def is_due() -> ColumnElement[bool]:
    return and_(Task.status == TaskStatus.PENDING, Task.waiting_for == 0, Task.ready_at <= func.clock_timestamp())


async def start_attempts(
    session: AsyncSession,
    task_ids: Collection[UUID],
    *,
    lease_s: int,
    actor: Actor,
    job_ids: Mapping[UUID, str | None] | None = None,
) -> Sequence[Task]:
    """Gives locked pending tasks a claim and their next attempt, all with one statement a table."""
    if not task_ids:
        return []
    at = func.clock_timestamp()
    started = await session.scalars(
        update(Task)
        .where(Task.id.in_(task_ids))
        .values(
            status=TaskStatus.IN_PROGRESS,
            claim_token=func.gen_random_uuid(),
            attempts_made=Task.attempts_made + 1,
            started_at=func.coalesce(Task.started_at, at),
            lease_until=at + func.make_interval(0, 0, 0, 0, 0, 0, float(lease_s)),
            deadline=at + func.make_interval(0, 0, 0, 0, 0, 0, Task.timeout_s),
        )
        .returning(Task),
        execution_options={"populate_existing": True, "synchronize_session": False},
    )
    tasks = list(started)
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
