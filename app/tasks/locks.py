"""Holds tasks while they are changed: by their row, and by the claim where one is due.

Locks are taken in one order: the team's turn for waits, the assignee's row, tasks by id, budget accounts upwards.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from uuid import UUID

from sqlalchemy import func, select
from sqlalchemy.ext.asyncio import AsyncSession

from app.errors import Forbidden, NotFound
from app.tasks import attempts
from app.tasks.errors import ClaimLost
from app.tasks.models import Task, TaskAttempt, TaskStatus


async def locked(
    session: AsyncSession, *, team_id: UUID, task_id: UUID, skip_locked: bool = False
) -> tuple[Task, datetime]:
    statement = (
        select(Task, func.clock_timestamp())
        .where(Task.team_id == team_id, Task.id == task_id)
        .with_for_update(key_share=True, skip_locked=skip_locked)
    )
    row = (await session.execute(statement.execution_options(populate_existing=True))).one_or_none()
    if row is None:
        raise NotFound("There is no such task in this team.")
    task, at = row
    return task, at


async def held(
    session: AsyncSession, *, team_id: UUID, task_id: UUID, claim_token: UUID, agent_id: UUID | None = None
) -> tuple[Task, TaskAttempt, datetime]:
    """A claimed task, locked, with its attempt; raises ClaimLost. `agent_id`: the caller acts as this agent only."""
    task, at = await locked(session, team_id=team_id, task_id=task_id)
    if agent_id is not None and task.assignee_id != agent_id:
        raise not_yours()
    if task.status is not TaskStatus.IN_PROGRESS or task.claim_token != claim_token:
        raise ClaimLost
    return task, await attempts.current(session, task), at


async def lock_all(session: AsyncSession, ids: Collection[UUID]) -> list[Task]:
    statement = select(Task).where(Task.id.in_(ids)).order_by(Task.id).with_for_update(key_share=True)
    return list(await session.scalars(statement.execution_options(populate_existing=True)))


def not_yours() -> Forbidden:
    return Forbidden(
        "This key acts as one agent and may change only that agent's own tasks.", permission="WORK_TASKS", roles=[]
    )
