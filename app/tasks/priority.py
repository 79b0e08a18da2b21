"""When a task counts as due, by its priority."""

from __future__ import annotations

from datetime import datetime, timedelta

from app.tasks.models import TaskPriority

# How much earlier than it was made a task counts as due. Urgent overtakes an hour of normal work; low waits at most
# 70 minutes behind urgent tasks that keep coming, and is then due before the next of them.
HEAD_START = {
    TaskPriority.URGENT: timedelta(hours=1),
    TaskPriority.HIGH: timedelta(minutes=10),
    TaskPriority.NORMAL: timedelta(0),
    TaskPriority.LOW: timedelta(minutes=-10),
}


def due_at(moment: datetime | None, priority: TaskPriority) -> datetime:
    assert moment is not None
    return moment - HEAD_START[priority]
