"""Enums of what needs a person in the schema."""

from __future__ import annotations

from app.attention.models import AttentionAction, AttentionKind, AttentionState
from graphql_schema.publish_enum import publish_enum

publish_enum(
    AttentionKind,
    "Why a person is needed.",
    {
        AttentionKind.QUESTION: "An agent or a program wants to know something.",
        AttentionKind.CLARIFICATION: "Somebody has to say what is meant.",
        AttentionKind.APPROVAL: "Somebody has to allow something.",
        AttentionKind.ESCALATION: "Something is beyond those who work on it.",
        AttentionKind.BUDGET_RAISE: "The team's day or month is near its budget.",
        AttentionKind.DEAD_LETTER: "A task failed for good.",
        AttentionKind.FAILED_SUBTASK: "A task failed for good that is part of another one.",
        AttentionKind.COST_CLAIM: "An agent reported a cost beyond its task's budget. The part beyond is not booked.",
    },
)
publish_enum(
    AttentionState,
    "Where it stands.",
    {
        AttentionState.OPEN: "It waits for a person.",
        AttentionState.ANSWERED: "A person answered, here or by the mutation for what it is about.",
        AttentionState.EXPIRED: "Its deadline passed; the default answer counts, where there is one.",
        AttentionState.WITHDRAWN: "Nobody needs the answer any more.",
    },
    name="AttentionStatus",
)
publish_enum(
    AttentionAction,
    "What was done about it.",
    {
        AttentionAction.OPENED: "It was put into the queue.",
        AttentionAction.ASSIGNED: "It was said who is to answer.",
        AttentionAction.ANSWERED: "It was answered.",
        AttentionAction.EXPIRED: "Its deadline passed.",
        AttentionAction.WITHDRAWN: "It was taken out of the queue unanswered.",
    },
)
