"""Ends what would never end by itself: tasks whose lease or time ran out, and those of archived agents.

Safe in many processes at once: each task is ended once.
"""

from __future__ import annotations

from uuid import UUID

import structlog
from sqlalchemy import func, select
from sqlalchemy.ext.asyncio import AsyncSession

from app.agents.models import Agent, AgentStatus
from app.db.transaction import Transactions
from app.errors import NotFound
from app.events.log import SYSTEM
from app.tasks.ending import end
from app.tasks.failures import AGENT_ARCHIVED, LEASE_EXPIRED, TIMED_OUT
from app.tasks.locks import locked
from app.tasks.models import AttemptOutcome, Task, TaskStatus
from app.tasks.requeueing import bury, fail_attempt

log = structlog.get_logger(__name__)
BATCH = 200


async def sweep(transaction: Transactions) -> int:
    """A transaction for each task, so that one that fails holds up no other; answers how many were ended."""
    overdue = func.least(Task.lease_until, Task.deadline)
    async with transaction() as session:
        late = await session.execute(
            select(Task.team_id, Task.id)
            .where(Task.status == TaskStatus.IN_PROGRESS, overdue <= func.now())
            .order_by(overdue)
            .limit(BATCH)
        )
        unclaimable = await session.execute(
            select(Task.team_id, Task.id)
            .join(Agent, Agent.id == Task.assignee_id)
            .where(Task.status == TaskStatus.PENDING, Agent.status == AgentStatus.ARCHIVED)
            .limit(BATCH)
        )
        found = [(_end_overdue, *row) for row in late] + [(_end_unclaimable, *row) for row in unclaimable]
    ended = 0
    for end_it, team_id, task_id in found:
        try:
            async with transaction() as session:
                ended += await end_it(session, team_id=team_id, task_id=task_id)
        except Exception:
            log.exception("a task could not be ended; the next sweep tries again", task=str(task_id))
    return ended


async def _end_overdue(session: AsyncSession, *, team_id: UUID, task_id: UUID) -> bool:
    """Time out past the deadline, or give up the attempt whose lease ran out."""
    try:
        task, at = await locked(session, team_id=team_id, task_id=task_id, skip_locked=True)
    except NotFound:  # held by whoever is just now changing it
        return False
    if task.status is not TaskStatus.IN_PROGRESS or task.deadline is None or task.lease_until is None:
        return False
    if task.deadline <= at:
        await end(session, task, TaskStatus.TIMED_OUT, at=at, actor=SYSTEM, failure=TIMED_OUT)
    elif task.lease_until <= at:
        await fail_attempt(session, task, LEASE_EXPIRED, at=at, actor=SYSTEM, outcome=AttemptOutcome.LOST)
    else:
        return False
    return True


async def _end_unclaimable(session: AsyncSession, *, team_id: UUID, task_id: UUID) -> bool:
    """A pending task whose agent was archived. Nobody will ever take it."""
    try:
        task, at = await locked(session, team_id=team_id, task_id=task_id, skip_locked=True)
    except NotFound:
        return False
    status = await session.scalar(select(Agent.status).where(Agent.id == task.assignee_id))
    if task.status is not TaskStatus.PENDING or status is not AgentStatus.ARCHIVED:
        return False
    await end(session, task, TaskStatus.FAILED, at=at, actor=SYSTEM, failure=AGENT_ARCHIVED)
    await bury(session, task, AGENT_ARCHIVED, SYSTEM)
    return True
