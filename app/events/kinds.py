"""Every event name, in the past tense: what happened, to what."""

from __future__ import annotations

from enum import StrEnum


class EventKind(StrEnum):
    TEAM_CREATED = "team.created"
    TEAM_UPDATED = "team.updated"
    TEAM_FLAGS_CHANGED = "team.flags_changed"
    TEAM_HANDOFF_RULES_CHANGED = "team.handoff_rules_changed"
    AGENT_CREATED = "agent.created"
    AGENT_UPDATED = "agent.updated"
    AGENT_PAUSED = "agent.paused"
    AGENT_RESUMED = "agent.resumed"
    AGENT_ARCHIVED = "agent.archived"
    API_KEY_CREATED = "api_key.created"
    API_KEY_REVOKED = "api_key.revoked"
    TEAM_DOCUMENTS_REGISTERED = "team.documents_registered"
