"""Takes due tasks: one for an agent that asks, or a batch for managed agents with one statement, which is what a worker
does most often and waits for."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime, timedelta
from uuid import UUID, uuid4

import asyncpg
from sqlalchemy import Enum, Select, func, select
from sqlalchemy.ext.asyncio import AsyncSession

from app.agents.models import Agent, AgentStatus
from app.db.transaction import Bell, Statement
from app.errands import service as errands
from app.errands.models import ErrandKind
from app.events.kinds import EventKind
from app.events.log import Actor
from app.ids import Prefix, new_id
from app.tasks import attempts
from app.tasks.models import Task, TaskPurpose, TaskStatus, TaskType
from app.tasks.narration import tell

LEASE_S = range(5, 301)  # what an agent of somebody's own may ask for

# Writes what `claim` writes for one task; a test holds the two against each other.
_CLAIM = f"""
with due as (
    select task.id, row_number() over (order by task.due_at, task.id) as place from (
        select task.id, task.due_at from task join agent on agent.id = task.assignee_id
        where task.status = 'pending' and task.waiting_for = 0 and task.ready_at <= statement_timestamp()
            and agent.status = 'active' and agent.runtime = 'managed'
        order by task.due_at, task.id limit $1
        for no key update of task skip locked
    ) as task
), taken as (
    update task set status = '{TaskStatus.IN_PROGRESS.value}', claim_token = gen_random_uuid(),
        attempts_made = attempts_made + 1, started_at = coalesce(started_at, statement_timestamp()),
        lease_until = statement_timestamp() + make_interval(secs => $2),
        deadline = statement_timestamp() + make_interval(secs => timeout_s), updated_at = statement_timestamp()
    from due where task.id = due.id
    returning task.*, due.place
), attempt as (
    insert into task_attempt (id, team_id, task_id, agent_id, number)
    select (cast($3 as uuid[]))[place], team_id, id, assignee_id, attempts_made from taken
), event as (
    insert into event (id, team_id, kind, actor, agent_id, task_id, parent_task_id, grandparent_task_id, root_task_id,
        creator_id, conversation_id, collaboration_id, changes)
    select (cast($4 as uuid[]))[place], team_id, '{EventKind.TASK_CLAIMED.value}', cast($5 as text), assignee_id, id,
        parent_id, grandparent_id, root_id, creator_id, conversation_id, collaboration_id,
        jsonb_build_object('status', '{TaskStatus.IN_PROGRESS.name}', 'attempt', attempts_made)
        || case when parent_id is null then jsonb_build_object() else jsonb_build_object(
            'parentId', '{Prefix.TASK.value}_' || replace(cast(parent_id as text), '-', '')) end
    from taken
), begun as (
    insert into errand (id, team_id, kind, subject_id)
    select gen_random_uuid(), team_id, '{ErrandKind.TASK_BEGUN.value}', id from taken
    where purpose = '{TaskPurpose.CONSULTATION.value}'
)
select * from taken order by place
"""


async def claim(
    session: AsyncSession,
    *,
    team_id: UUID,
    agent_id: UUID,
    types: Collection[TaskType] | None,
    lease_s: int,
    actor: Actor,
) -> Task | None:
    """Take the agent's next due task, or None. Of many claimers each task goes to one; a paused agent gets none."""
    statement = _due().where(Task.team_id == team_id, Task.assignee_id == agent_id)
    if types is not None:
        statement = statement.where(Task.type.in_(types))
    rows = await session.execute(statement)
    return next((take(session, task, at, lease_s=lease_s, actor=actor) for task, at in rows), None)


def _due() -> Select[Task, datetime]:
    statement = (
        select(Task, func.clock_timestamp())
        .join(Agent, Agent.id == Task.assignee_id)
        .where(
            Task.status == TaskStatus.PENDING,
            Task.waiting_for == 0,
            Task.ready_at <= func.clock_timestamp(),
            Agent.status == AgentStatus.ACTIVE,
        )
        .order_by(Task.due_at, Task.id)
        .limit(1)
        .with_for_update(of=Task, key_share=True, skip_locked=True)
    )
    return statement.execution_options(populate_existing=True)


def take(session: AsyncSession, task: Task, at: datetime, *, lease_s: int, actor: Actor) -> Task:
    """Give a locked pending task a claim and its next attempt."""
    task.status, task.claim_token = TaskStatus.IN_PROGRESS, uuid4()
    task.attempts_made += 1
    task.started_at = task.started_at or at
    task.lease_until = at + timedelta(seconds=lease_s)
    task.deadline = at + timedelta(seconds=task.timeout_s)
    attempts.open_attempt(session, task)
    tell(session, EventKind.TASK_CLAIMED, task, actor, attempt=task.attempts_made)
    if task.purpose is TaskPurpose.CONSULTATION:
        errands.ask(session, ErrandKind.TASK_BEGUN, team_id=task.team_id, subject_id=task.id)
    return task


async def claim_managed(statement: Statement, *, limit: int, lease_s: int, actor: Actor) -> list[Task]:
    """Whatever their team: the most urgent first, then the oldest. Of many claimers each task goes to one."""
    of_attempts, of_events = [new_id() for _ in range(limit)], [new_id() for _ in range(limit)]
    claimed = await statement.fetch(_CLAIM, limit, float(lease_s), of_attempts, of_events, actor.name)
    if claimed:
        statement.bells.append(Bell.EVENTS)
    tasks = [_task(row) for row in claimed]
    if any(task.purpose is TaskPurpose.CONSULTATION for task in tasks):
        statement.bells.append(Bell.WORK)
    return tasks


def _task(row: asyncpg.Record) -> Task:
    plain = {name: row[name] for name in _READERS}
    ours = {name: read(row[name]) for name, read in _READERS.items() if read is not None and row[name] is not None}
    return Task(**plain | ours)


# SQLAlchemy has taught the driver all types but ours.
_READERS = {
    column.name: column.type.enum_class if isinstance(column.type, Enum) else None for column in Task.__table__.columns
}
