"""Enums of messages in the schema."""

from __future__ import annotations

from app.messages.models import AgentMessageType, ChannelKind
from graphql_schema.publish_enum import publish_enum

publish_enum(
    ChannelKind,
    "Whom a message between agents is for.",
    {
        ChannelKind.DIRECT: "One agent.",
        ChannelKind.TEAM: "Every other active agent of the team.",
        ChannelKind.TASK: "Those who gave or have a task or one above it.",
        ChannelKind.COLLABORATION: "The participants of a collaboration session.",
    },
)
publish_enum(
    AgentMessageType,
    "What a message between agents is.",
    {
        AgentMessageType.TASK_REQUEST: "Asks for work, without delegating it.",
        AgentMessageType.TASK_RESULT: "Says what came of work.",
        AgentMessageType.TASK_STATUS: "Says how far work is, or what blocks it.",
        AgentMessageType.INFO_REQUEST: "Asks what the other knows.",
        AgentMessageType.INFO_RESPONSE: "Answers what was asked.",
        AgentMessageType.NOTIFICATION: "Says something worth knowing.",
        AgentMessageType.COLLAB_INVITE: "Invites to a collaboration session.",
        AgentMessageType.COLLAB_UPDATE: "Says how far a collaboration session is.",
        AgentMessageType.HANDOFF_REQUEST: "Asks to take over a conversation.",
        AgentMessageType.FEEDBACK: "Says what was good or bad.",
        AgentMessageType.REVIEW_REQUEST: "Asks for a review.",
        AgentMessageType.REVIEW_RESULT: "Says what a review found.",
    },
)
