"""Finds tasks whose lease or time ran out and ends them. Safe in many processes at once: each task is ended once."""

from __future__ import annotations

import structlog
from sqlalchemy import func, select

from app.db.transaction import Transactions
from app.tasks.models import Task, TaskStatus
from app.tasks.transitions import end_overdue

log = structlog.get_logger(__name__)
BATCH = 200


async def sweep(transaction: Transactions) -> int:
    """A transaction for each task, so that one that fails holds up no other; answers how many were ended."""
    async with transaction() as session:
        overdue = func.least(Task.lease_until, Task.deadline)
        found = await session.execute(
            select(Task.team_id, Task.id)
            .where(Task.status == TaskStatus.IN_PROGRESS, overdue <= func.now())
            .order_by(overdue)
            .limit(BATCH)
        )
        rows = found.all()
    ended = 0
    for team_id, task_id in rows:
        try:
            async with transaction() as session:
                ended += await end_overdue(session, team_id=team_id, task_id=task_id)
        except Exception:
            log.exception("an overdue task could not be ended; the next sweep tries again", task=str(task_id))
    return ended
