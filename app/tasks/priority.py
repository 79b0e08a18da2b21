"""The order in which tasks start: by priority, age and the team's share."""

from __future__ import annotations

from datetime import datetime, timedelta

from app.tasks.models import TaskPriority

# How much earlier than it was created a task counts as due. Urgent overtakes an hour of normal work; low waits at most
# 70 minutes behind urgent tasks that keep coming, and is then due before the next of them.
HEAD_START = {
    TaskPriority.URGENT: timedelta(hours=1),
    TaskPriority.HIGH: timedelta(minutes=10),
    TaskPriority.NORMAL: timedelta(0),
    TaskPriority.LOW: timedelta(minutes=-10),
}
# How much later a task counts in the queue for each task of its team that waits before it, so that teams take turns.
# A head start is spent faster than plain waiting: twelve urgent tasks of one team pass another team's work, not all.
TURN = {
    TaskPriority.URGENT: timedelta(minutes=5),
    TaskPriority.HIGH: timedelta(minutes=1),
    TaskPriority.NORMAL: timedelta(seconds=2),
    TaskPriority.LOW: timedelta(seconds=2),
}
MAX_TURNS = 200
# arq starts what has a score in the past, lowest first. So every score of a task that is ready lies well in the past.
QUEUE_SHIFT = timedelta(days=1)


def due_at(moment: datetime | None, priority: TaskPriority) -> datetime:
    assert moment is not None
    return moment - HEAD_START[priority]


def queue_position(due: datetime, priority: TaskPriority, ahead: int) -> datetime:
    """The score, as a moment, of a task that is ready; `ahead` tasks of the same team are due before it."""
    return due - QUEUE_SHIFT + min(ahead, MAX_TURNS) * TURN[priority]
