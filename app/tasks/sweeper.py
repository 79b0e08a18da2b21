"""Ends what would never end by itself: tasks whose lease or time ran out, and those of archived agents.

Safe in many processes at once: each task is ended once.
"""

from __future__ import annotations

import structlog
from sqlalchemy import func, select

from app.agents.models import Agent, AgentStatus
from app.db.transaction import Transactions
from app.tasks.models import Task, TaskStatus
from app.tasks.transitions import end_overdue, end_unclaimable

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
        found = [(end_overdue, *row) for row in late] + [(end_unclaimable, *row) for row in unclaimable]
    ended = 0
    for end, team_id, task_id in found:
        try:
            async with transaction() as session:
                ended += await end(session, team_id=team_id, task_id=task_id)
        except Exception:
            log.exception("a task could not be ended; the next sweep tries again", task=str(task_id))
    return ended
