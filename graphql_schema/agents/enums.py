"""Enums of agents in the schema."""

from __future__ import annotations

from app.agents import models
from graphql_schema.publish_enum import publish_enum

publish_enum(
    models.AgentStatus,
    "Whether an agent takes part.",
    {
        models.AgentStatus.ACTIVE: "Takes work.",
        models.AgentStatus.PAUSED: "Takes no new work until resumed.",
        models.AgentStatus.ARCHIVED: "Gone for good; kept for history.",
    },
)
publish_enum(
    models.AgentType,
    "What kind of work an agent is made for.",
    {
        models.AgentType.GENERAL: "Anything.",
        models.AgentType.ARCHITECT: "Plans and designs.",
        models.AgentType.DEVELOPER: "Builds.",
        models.AgentType.REVIEWER: "Reviews the work of others.",
        models.AgentType.TESTER: "Tests.",
        models.AgentType.DOCUMENTER: "Writes documentation.",
        models.AgentType.SECURITY: "Looks after security.",
        models.AgentType.OPTIMIZER: "Makes things faster or cheaper.",
        models.AgentType.CUSTOM: "A type of the team's own, named in customType.",
    },
)
publish_enum(
    models.AgentRuntime,
    "Who runs an agent.",
    {
        models.AgentRuntime.MANAGED: "Parley's workers, on a model.",
        models.AgentRuntime.EXTERNAL: "Somebody's own program, over this API.",
    },
)
