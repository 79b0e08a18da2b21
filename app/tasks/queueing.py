"""Which tasks a worker can run, as arq jobs: one job for each attempt."""

from __future__ import annotations

from collections.abc import Collection
from datetime import timedelta
from uuid import UUID

import asyncpg

from app.clock import now
from app.db.engine import Database
from app.queue import Job
from app.tasks.models import TaskPriority
from app.tasks.priority import MAX_TURNS, queue_position

EXECUTE_TASK = "execute_task"
JOB_PREFIX = "task"
_ROUNDING = timedelta(milliseconds=1)  # arq's scores are whole milliseconds
_RUNNABLE = f"""
select task.id, task.attempts_made + 1 as attempt, task.due_at, task.ready_at, task.priority,
    (select count(*) from (
        select from task as other join agent as owner on owner.id = other.assignee_id and owner.runtime = 'managed'
        where other.team_id = task.team_id and other.status = 'pending' and other.waiting_for = 0
            and other.due_at < task.due_at
        limit {MAX_TURNS}) as earlier) as ahead
from task join agent on agent.id = task.assignee_id
where task.status = 'pending' and task.waiting_for = 0 and agent.status = 'active' and agent.runtime = 'managed'
"""
_OF_TASKS = f"{_RUNNABLE} and task.id = any($1)"
_DUE = f"{_RUNNABLE} and task.ready_at <= clock_timestamp() order by task.due_at, task.id limit $1"


def job_id(task_id: UUID, attempt: int) -> str:
    return f"{JOB_PREFIX}:{task_id}:{attempt}"


async def jobs_of(database: Database, task_ids: Collection[UUID]) -> list[Job]:
    """Jobs for those of the tasks that wait for a worker, now or after a pause."""
    return [_job(row) for row in await database.fetch(_OF_TASKS, list(task_ids))]


async def due_jobs(database: Database, *, limit: int) -> list[Job]:
    """Jobs of tasks that could start now, the first ones by priority and age."""
    return [_job(row) for row in await database.fetch(_DUE, limit)]


def _job(row: asyncpg.Record) -> Job:
    position, ready_at = queue_position(row["due_at"], TaskPriority(row["priority"]), row["ahead"]), row["ready_at"]
    if ready_at > now():
        position = ready_at + _ROUNDING
    return Job(job_id(row["id"], row["attempt"]), EXECUTE_TASK, (str(row["id"]), row["attempt"]), ready_at, position)
