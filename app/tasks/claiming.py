"""Claims due tasks: the next one of an agent that asks, or those whose jobs a worker has started.

One statement does it all, for one task or many: a worker waits for it before it can start anything.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from sqlalchemy import Enum, text
from sqlalchemy.ext.asyncio import AsyncSession

from app.db.transaction import AfterCommit, Statement, WakeUp, after_commit
from app.events.kinds import EventKind
from app.events.log import Actor
from app.events.models import Event
from app.follow_ups.models import FollowUpKind
from app.ids import Prefix, new_id
from app.tasks.models import Task, TaskPurpose, TaskStatus, TaskType

LEASE_S = range(5, 301)  # what an external agent may ask for

_DUE = """
    task.status = 'pending' and task.waiting_for = 0 and task.ready_at <= clock_timestamp() and agent.status = 'active'
"""
_NEXT_OF_AGENT = f"""
    select task.id, cast(null as text) as job_id from task join agent on agent.id = task.assignee_id
    where {_DUE} and task.team_id = {{7}} and task.assignee_id = {{8}}
        and (cast({{9}} as text[]) is null or task.type = any(cast({{9}} as text[])))
    order by task.due_at, task.id limit 1 for no key update of task skip locked
"""
_OF_JOBS = f"""
    select task.id, job.job_id from task join agent on agent.id = task.assignee_id
    join unnest(cast({{7}} as uuid[]), cast({{8}} as int[]), cast({{9}} as text[])) as job (task_id, attempt, job_id)
        on job.task_id = task.id and job.attempt = task.attempts_made + 1
    where {_DUE} and agent.runtime = 'managed'
    order by task.id for no key update of task skip locked
"""
_LOCKED = "select id, cast(null as text) as job_id from task where id = {7}"
_CLAIM = f"""
with due as ({{due}}), claimed as (
    update task set status = '{TaskStatus.IN_PROGRESS.value}', claim_token = gen_random_uuid(),
        attempts_made = attempts_made + 1, started_at = coalesce(started_at, clock_timestamp()),
        lease_until = clock_timestamp() + make_interval(secs => {{1}}),
        deadline = clock_timestamp() + make_interval(secs => timeout_s), updated_at = clock_timestamp()
    from due where task.id = due.id
    returning task.*, due.job_id
), placed as (
    select *, row_number() over (order by due_at, id) as place from claimed
), attempt as (
    insert into task_attempt (id, team_id, task_id, agent_id, number, job_id)
    select (cast({{2}} as uuid[]))[place], team_id, id, assignee_id, attempts_made, job_id from placed
), happened as (
    insert into event (id, team_id, kind, actor, api_key_id, agent_id, task_id, parent_task_id, grandparent_task_id,
        root_task_id, creator_id, conversation_id, collaboration_id, changes)
    select (cast({{3}} as uuid[]))[place], team_id, '{EventKind.TASK_CLAIMED.value}', cast({{5}} as text),
        cast({{6}} as uuid), assignee_id, id, parent_id, grandparent_id, root_id, creator_id, conversation_id,
        collaboration_id,
        jsonb_build_object('status', '{TaskStatus.IN_PROGRESS.name}', 'attempt', attempts_made)
        || case when parent_id is null then jsonb_build_object() else jsonb_build_object(
            'parentId', '{Prefix.TASK.value}_' || replace(cast(parent_id as text), '-', '')) end
    from placed returning id, position, task_id
), started as (
    insert into follow_up (id, team_id, kind, subject_id)
    select (cast({{4}} as uuid[]))[place], team_id, '{FollowUpKind.CONSULTATION_TASK_STARTED.value}', id from placed
    where purpose = '{TaskPurpose.CONSULTATION.value}'
    returning id, subject_id
)
select placed.*, happened.id as event_id, happened.position as event_position, started.id as follow_up_id
from placed join happened on happened.task_id = placed.id left join started on started.subject_id = placed.id
order by place
"""


def _sql(due: str, parameter: Callable[[int], str]) -> str:
    names = [parameter(number) for number in range(10)]
    return _CLAIM.format(*names, due=due.format(*names))


_NEXT_STATEMENT = text(_sql(_NEXT_OF_AGENT, ":p{}".format))
_LOCKED_STATEMENT = text(_sql(_LOCKED, ":p{}".format))
_JOBS_STATEMENT = _sql(_OF_JOBS, "${}".format)


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
    names = None if types is None else [task_type.value for task_type in types]
    return await _claim_one(session, _NEXT_STATEMENT, lease_s, actor, team_id, agent_id, names)


async def claim_locked(session: AsyncSession, task_id: UUID, *, lease_s: int, actor: Actor) -> Task:
    """Claims a pending task that the caller has locked, due or not."""
    task = await _claim_one(session, _LOCKED_STATEMENT, lease_s, actor, task_id)
    assert task is not None
    return task


async def _claim_one(session: AsyncSession, statement: Any, lease_s: int, actor: Actor, *due: Any) -> Task | None:
    await session.flush()
    values = [*_common(1, lease_s, actor), *due]
    rows = await session.execute(statement, {f"p{number}": value for number, value in enumerate(values, start=1)})
    row = rows.mappings().one_or_none()
    if row is None:
        return None
    _leave_to_do(after_commit(session), [row])
    session.info["last_event"] = Event(id=row["event_id"], position=row["event_position"])
    return await session.get_one(Task, row["id"], populate_existing=True)


async def claim_for_jobs(
    statement: Statement, claims: Sequence[JobClaim], *, lease_s: int, actor: Actor
) -> Mapping[UUID, Task]:
    """Claims the tasks of these jobs, by task id. Left out: what is not due, was claimed under this attempt before, or
    is being changed at this moment (the sweeper enqueues it again)."""
    jobs = zip(*((claim.task_id, claim.attempt, claim.job_id) for claim in claims), strict=True)
    rows = await statement.fetch(_JOBS_STATEMENT, *_common(len(claims), lease_s, actor), *map(list, jobs))
    _leave_to_do(statement.after_commit, rows)
    return {row["id"]: _task(row) for row in rows}


def _common(count: int, lease_s: int, actor: Actor) -> list[Any]:
    attempts, events, follow_ups = ([new_id() for _ in range(count)] for _ in range(3))
    return [float(lease_s), attempts, events, follow_ups, actor.name, actor.api_key_id]


def _leave_to_do(pending: AfterCommit, rows: Sequence[Any]) -> None:
    if rows:
        pending.wake_ups.add(WakeUp.EVENTS)
    pending.started_job_ids += [row["job_id"] for row in rows if row["job_id"] is not None]
    pending.follow_up_ids += [row["follow_up_id"] for row in rows if row["follow_up_id"] is not None]


def _task(row: Any) -> Task:
    """The driver gives enums as the texts that they are kept as."""
    values = {name: row[name] for name in _READERS}
    enums = {name: read(row[name]) for name, read in _READERS.items() if read is not None and row[name] is not None}
    return Task(**values | enums)


_READERS = {
    column.name: column.type.enum_class if isinstance(column.type, Enum) else None for column in Task.__table__.columns
}
