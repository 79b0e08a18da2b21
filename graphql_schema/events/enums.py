"""Enums of events in the schema."""

from __future__ import annotations

from app.events.kinds import EventKind
from graphql_schema.publish_enum import publish_enum

publish_enum(
    EventKind,
    "What happened. More kinds come with later versions: let a client pass over those that it does not know.",
    {
        EventKind.TEAM_CREATED: "The team came into being.",
        EventKind.TEAM_UPDATED: "Settings of the team itself changed.",
        EventKind.TEAM_FLAGS_CHANGED: "Feature flags were set; null: back to the installation's value.",
        EventKind.TEAM_BUDGETS_CHANGED: "What the team may spend changed; null: back to the installation's setting.",
        EventKind.TEAM_HANDOFF_RULES_CHANGED: "Handoff rules were added, removed or given another priority.",
        EventKind.TEAM_DOCUMENTS_REGISTERED: "GraphQL documents became trusted.",
        EventKind.AGENT_CREATED: "An agent joined the team.",
        EventKind.AGENT_UPDATED: "An agent's own fields changed.",
        EventKind.AGENT_PAUSED: "An agent takes no new work.",
        EventKind.AGENT_RESUMED: "A paused agent takes work again.",
        EventKind.AGENT_ARCHIVED: "An agent left for good.",
        EventKind.API_KEY_CREATED: "An API key was created.",
        EventKind.API_KEY_REVOKED: "An API key was revoked.",
        EventKind.CONTRACT_SAVED: "A contract was saved, as a new version.",
        EventKind.CONTRACT_DELETED: "A contract was deleted; tasks that have it keep it.",
        EventKind.TASK_CREATED: "A task was delegated.",
        EventKind.TASK_CLAIMED: "Its assignee began to work on a task.",
        EventKind.TASK_PROGRESSED: "The assignee told how far it is.",
        EventKind.TASK_TOOL_CALLED: "The assignee called a tool.",
        EventKind.TASK_COMPLETED: "A task was done.",
        EventKind.TASK_FAILED: "A task failed for good.",
        EventKind.TASK_TIMED_OUT: "A task took longer than it may; its progress is kept.",
        EventKind.TASK_CANCELLED: "A task was cancelled.",
        EventKind.TASK_REQUEUED: "A task waits to be tried again.",
        EventKind.TASK_REASSIGNED: "A task went to another agent.",
        EventKind.TASK_DEAD_LETTERED: "A failed task waits for a person.",
        EventKind.DEAD_LETTER_REPLAYED: "A person had a failed task tried anew.",
        EventKind.DEAD_LETTER_DISCARDED: "A person let a failed task be.",
        EventKind.BUDGET_NEAR_CAP: "A budget is nearly used up.",
        EventKind.ROUTING_DECIDED: "It was decided which agent answers a message.",
        EventKind.ROUTING_FELL_BACK: "No agent's skills matched a message: the default agent answers, or nobody.",
        EventKind.ROUTING_RATED: "The answer to a routed message was rated.",
        EventKind.ROUTING_OUTCOME_RECORDED: "It was told what became of a routed message.",
        EventKind.ROUTING_POLICY_CHANGED: "The team's routing policy has a new version.",
    },
)
