"""Every event name, in the past tense: what happened, to what."""

from __future__ import annotations

from enum import StrEnum


class EventKind(StrEnum):
    TEAM_CREATED = "team.created"
    TEAM_UPDATED = "team.updated"
    TEAM_FLAGS_CHANGED = "team.flags_changed"
    TEAM_BUDGETS_CHANGED = "team.budgets_changed"
    TEAM_HANDOFF_RULES_CHANGED = "team.handoff_rules_changed"
    AGENT_CREATED = "agent.created"
    AGENT_UPDATED = "agent.updated"
    AGENT_PAUSED = "agent.paused"
    AGENT_RESUMED = "agent.resumed"
    AGENT_ARCHIVED = "agent.archived"
    API_KEY_CREATED = "api_key.created"
    API_KEY_REVOKED = "api_key.revoked"
    TEAM_DOCUMENTS_REGISTERED = "team.documents_registered"
    CONTRACT_SAVED = "contract.saved"
    CONTRACT_DELETED = "contract.deleted"
    TASK_CREATED = "task.created"
    TASK_CLAIMED = "task.claimed"
    TASK_PROGRESSED = "task.progressed"
    TASK_TOOL_CALLED = "task.tool_called"
    TASK_COMPLETED = "task.completed"
    TASK_FAILED = "task.failed"
    TASK_TIMED_OUT = "task.timed_out"
    TASK_CANCELLED = "task.cancelled"
    TASK_REQUEUED = "task.requeued"
    TASK_REASSIGNED = "task.reassigned"
    TASK_DEAD_LETTERED = "task.dead_lettered"
    DEAD_LETTER_REPLAYED = "dead_letter.replayed"
    DEAD_LETTER_DISCARDED = "dead_letter.discarded"
    BUDGET_NEAR_CAP = "budget.near_cap"
