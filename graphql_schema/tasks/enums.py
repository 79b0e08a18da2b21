"""Enums of tasks in the schema."""

from __future__ import annotations

from app.tasks import models
from app.tasks.errors import UnavailableReason
from graphql_schema.publish_enum import publish_enum

publish_enum(
    models.TaskStatus,
    "Where a task stands.",
    {
        models.TaskStatus.PENDING: "Waits to be taken up, or for what it depends on.",
        models.TaskStatus.IN_PROGRESS: "Somebody works on it.",
        models.TaskStatus.COMPLETED: "Done; has a result.",
        models.TaskStatus.FAILED: "Failed for good; see the error.",
        models.TaskStatus.TIMED_OUT: "Its time ran out; progress is kept.",
        models.TaskStatus.CANCELLED: "Stopped before it was done.",
    },
)
publish_enum(
    models.TaskType,
    "What kind of work a task is.",
    {
        models.TaskType.RESEARCH: "Find things out.",
        models.TaskType.REVIEW: "Judge somebody's work.",
        models.TaskType.ANALYZE: "Draw conclusions from data.",
        models.TaskType.GENERATE: "Make something new.",
        models.TaskType.SUMMARIZE: "Put something long briefly.",
        models.TaskType.VALIDATE: "Check whether something holds.",
        models.TaskType.PLAN: "Work out the steps.",
        models.TaskType.EXECUTE: "Carry out given steps.",
    },
)
publish_enum(
    models.TaskPurpose,
    "What a task is for. All but a delegation is an agent's own work, which Parley ordered.",
    {
        models.TaskPurpose.DELEGATION: "One agent gave it to another.",
        models.TaskPurpose.REPLY: "An answer in a conversation.",
        models.TaskPurpose.STAGE: "A step of a collaboration session.",
        models.TaskPurpose.REPORT: "A report that was requested.",
        models.TaskPurpose.CONSULTATION: "A question that another agent asked.",
    },
)
publish_enum(
    models.TaskPriority,
    "Which tasks go first. A priority is a head start, so that low ones are reached too.",
    {
        models.TaskPriority.LOW: "Ten minutes behind.",
        models.TaskPriority.NORMAL: "In the order of creation.",
        models.TaskPriority.HIGH: "Ten minutes ahead.",
        models.TaskPriority.URGENT: "An hour ahead.",
    },
)
publish_enum(
    models.AttemptOutcome,
    "How an attempt ended.",
    {
        models.AttemptOutcome.RUNNING: "Not yet.",
        models.AttemptOutcome.COMPLETED: "With a result.",
        models.AttemptOutcome.FAILED: "With an error.",
        models.AttemptOutcome.TIMED_OUT: "The task's time ran out.",
        models.AttemptOutcome.LOST: "No heartbeat came before the lease ran out.",
        models.AttemptOutcome.CANCELLED: "The task was cancelled.",
        models.AttemptOutcome.RELEASED: "Given back unfinished: its worker was stopped, or another agent got the task.",
    },
)
publish_enum(
    models.DeadLetterState,
    "What became of a dead letter.",
    {
        models.DeadLetterState.OPEN: "Waits for a person.",
        models.DeadLetterState.REPLAYED: "Its work runs again, in `replay`.",
        models.DeadLetterState.DISCARDED: "Given up.",
    },
    name="DeadLetterStatus",
)
publish_enum(
    UnavailableReason,
    "Why an agent takes no new task, or answers no message.",
    {
        UnavailableReason.PAUSED: "It is paused; it can be resumed.",
        UnavailableReason.ARCHIVED: "It is gone for good.",
        UnavailableReason.AT_CAPACITY: "It has as many open tasks as an agent may have.",
    },
)
