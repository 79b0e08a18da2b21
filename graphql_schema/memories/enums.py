"""Enums of memory in the schema."""

from __future__ import annotations

from app.memories.models import MemoryKind
from graphql_schema.publish_enum import publish_enum

publish_enum(
    MemoryKind,
    "What kind of memory it is, and with that who has it.",
    {
        MemoryKind.PRIVATE: "One agent's own; no other agent sees it.",
        MemoryKind.SHARED: "A fact that all agents of the team know.",
        MemoryKind.EPISODIC: "What happened; the team's, or one agent's.",
        MemoryKind.PROCEDURAL: "How something is done; the team's, or one agent's.",
        MemoryKind.USER_PROFILE: "What is known of one user; all agents know it when they speak with that user.",
    },
)
