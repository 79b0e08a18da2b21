"""Takes the due tasks of managed agents, a batch with one statement: what a worker does most often and waits for."""

from __future__ import annotations

import asyncpg
from sqlalchemy import Enum

from app.db.transaction import Bell, Statement
from app.errands.models import ErrandKind
from app.events.kinds import EventKind
from app.events.log import Actor
from app.ids import Prefix, new_id
from app.tasks.models import Task, TaskPurpose, TaskStatus

# Writes what `transitions.claim` writes for one task; a test holds the two against each other.
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


async def claim_managed(statement: Statement, *, limit: int, lease_s: int, actor: Actor) -> list[Task]:
    """Whatever their team: the most urgent first, then the oldest. Of many claimers each task goes to one."""
    attempts, events = [new_id() for _ in range(limit)], [new_id() for _ in range(limit)]
    claimed = await statement.fetch(_CLAIM, limit, float(lease_s), attempts, events, actor.name)
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
