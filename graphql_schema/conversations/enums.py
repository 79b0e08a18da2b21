"""Enums of conversations in the schema."""

from __future__ import annotations

from app.conversations import models
from app.conversations.messages import WhileAnswering
from graphql_schema.publish_enum import publish_enum

publish_enum(
    models.ConversationStatus,
    "Whether a conversation goes on.",
    {
        models.ConversationStatus.OPEN: "It takes messages.",
        models.ConversationStatus.CLOSED: "It can only be read.",
    },
)
publish_enum(
    models.ParticipantRole,
    "What an agent is in a conversation.",
    {
        models.ParticipantRole.PRIMARY: "It has the conversation; one agent at a time.",
        models.ParticipantRole.INVITED: "It was added, or was chosen to answer.",
        models.ParticipantRole.HANDOFF_SOURCE: "It had the conversation and handed it over.",
    },
)
publish_enum(
    models.MessageAuthor,
    "Who speaks.",
    {
        models.MessageAuthor.USER: "A person.",
        models.MessageAuthor.AGENT: "An agent of the team.",
        models.MessageAuthor.SYSTEM: "Parley itself.",
    },
)
publish_enum(
    models.ReplyStatus,
    "How far the answering of a message is.",
    {
        models.ReplyStatus.PENDING: "Its turn has not come: an earlier message is being answered.",
        models.ReplyStatus.RUNNING: "The chosen agents work on it.",
        models.ReplyStatus.COMPLETED: "It became a message.",
        models.ReplyStatus.FAILED: "Nobody could answer; a system message says why.",
        models.ReplyStatus.CANCELLED: "It was stopped, another message interrupted it, or the conversation was closed.",
    },
)
publish_enum(
    models.ContributionStatus,
    "How far one agent's reply is.",
    {
        models.ContributionStatus.WAITING: "Not asked yet.",
        models.ContributionStatus.RUNNING: "Asked; its task is open.",
        models.ContributionStatus.COMPLETED: "It has replied.",
        models.ContributionStatus.FAILED: "It could not reply, or was not available.",
        models.ContributionStatus.TIMED_OUT: "It took longer than the reply may.",
        models.ContributionStatus.CANCELLED: "It was stopped, or never asked.",
    },
)
publish_enum(
    models.ContributionUse,
    "What became of one agent's reply in the answer.",
    {
        models.ContributionUse.ANSWER: "It is the answer.",
        models.ContributionUse.MERGED: "It is part of the answer.",
        models.ContributionUse.DUPLICATE: "It says what the answer says already.",
        models.ContributionUse.UNUSED: "Another reply was better.",
    },
)
publish_enum(
    WhileAnswering,
    "What a message does that comes while an earlier one is being answered.",
    {
        WhileAnswering.QUEUE: "It is answered in its turn.",
        WhileAnswering.INTERRUPT: "It stops what is being answered or waits for its turn, and is answered at once.",
    },
)
