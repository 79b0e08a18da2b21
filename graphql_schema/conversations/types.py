"""Conversations and what belongs to them, as the graph shows them.

An agent's key sees those in which its agent takes part; other keys see the whole team's.
"""

from __future__ import annotations

from typing import Any

import strawberry
from sqlalchemy import ColumnElement, and_, func

from app.auth.roles import Permission
from app.conversations import models
from app.conversations.handoffs.stack import MAX_DEPTH
from app.ids import Prefix
from app.routing.select import Strategy
from graphql_schema.conversations.reach import readable_contribution, readable_conversation, readable_within
from graphql_schema.node import Node
from graphql_schema.planner.connections import many, publish_connection
from graphql_schema.planner.mapping import column, expression, listing, mapped, one
from graphql_schema.planner.sql import word
from graphql_schema.scalars import JSON, DateTime, Usd

_AGENTS = "graphql_schema.agents.types"
_ROUTING = "graphql_schema.routing.types"
_TASKS = "graphql_schema.tasks.types"
_HERE = "graphql_schema.conversations.types"
_HANDOFFS = "graphql_schema.handoffs.conversation_types"


def _step_id(row: Any) -> ColumnElement[str]:
    return func.concat(word("step-"), row.number)


@mapped(models.Conversation.__table__, prefix=Prefix.CONVERSATION, scope=readable_conversation)
@strawberry.type(
    description="What a user and agents say to each other, in one order. An agent's key sees conversations in which "
    "that agent takes part, and only while it does."
)
class Conversation(Node):
    title: str = column("What it is about, up to 200 characters; may be empty.", filter=True, order=True)
    status: models.ConversationStatus = column("Whether it goes on.", filter=True, group=True)
    user_name: str = column("The user's name to show, 1 to 120 characters.", filter=True, order=True, group=True)
    user_id: str | None = column(
        f"The caller's own id of the user, 1 to {models.MAX_USER_ID} characters; null where none was given.",
        filter=True, group=True,
    )  # fmt: skip
    created_by: str = column("The name of the key that started it.", filter=True, group=True)
    message_count: int = column(
        "How many messages it has.", name="last_number", filter=True, order=True, aggregate=True
    )
    created_at: DateTime = column("When it began.", filter=True, order=True, group=True, aggregate=True)
    updated_at: DateTime = column("When it last changed.", filter=True, order=True, aggregate=True)
    closed_at: DateTime | None = column("When it was closed; null while open.", filter=True, order=True)
    primary_agent_id: strawberry.ID = column(
        "The agent that has the conversation.", prefix=Prefix.AGENT, filter=True, group=True
    )
    primary_agent = one(
        "Agent", _AGENTS, "The agent that has the conversation.",
        on=lambda conversation, agent: agent.id == conversation.primary_agent_id,
    )  # fmt: skip
    messages = many(
        "Message", _HERE, "All that was said, in order.",
        on=lambda conversation, message: message.conversation_id == conversation.id,
    )  # fmt: skip
    participants = many(
        "ConversationParticipant", _HERE, "The agents that take or took part.",
        on=lambda conversation, participant: participant.conversation_id == conversation.id, filter=True,
    )  # fmt: skip
    replies = many(
        "Reply", _HERE, "How its messages are or were answered.",
        on=lambda conversation, reply: reply.conversation_id == conversation.id,
    )  # fmt: skip
    handoff_stack = listing(
        "ConversationHandoff", _HANDOFFS, "The handoffs that the conversation can be returned from, the first one "
        "first: those that are to come back, at most 10, and of those with the policy NONE, as rules make them, the "
        "latest 10.",
        on=lambda conversation, handoff: and_(
            handoff.conversation_id == conversation.id, handoff.ended_at.is_(None)
        ),
        order="number", most=2 * MAX_DEPTH,
    )  # fmt: skip
    handoffs = many(
        "ConversationHandoff", _HANDOFFS, "Every handoff, in order.",
        on=lambda conversation, handoff: handoff.conversation_id == conversation.id,
    )  # fmt: skip
    variables = many(
        "ContextVariable", _HANDOFFS, "Every value that a context variable took in it, the first one first.",
        on=lambda conversation, variable: variable.conversation_id == conversation.id,
    )  # fmt: skip
    tasks = many(
        "Task", _TASKS, "The work that was done for it, delegations included.",
        on=lambda conversation, task: task.conversation_id == conversation.id,
    )  # fmt: skip
    collaborations = many(
        "CollaborationSession", "graphql_schema.collaborations.types", "The sessions that were started for it.",
        on=lambda conversation, session: session.conversation_id == conversation.id,
    )  # fmt: skip
    events = many(
        "Event", "graphql_schema.events.types", "What happened in it, as far back as retention goes.",
        on=lambda conversation, event: event.conversation_id == conversation.id, needs=Permission.READ_EVENTS,
    )  # fmt: skip


@mapped(models.ConversationParticipant.__table__, prefix=Prefix.PARTICIPANT, scope=readable_within)
@strawberry.type(description="An agent in a conversation; one for each agent, also when it leaves and comes back.")
class ConversationParticipant(Node):
    role: models.ParticipantRole = column("What it is there.", filter=True, group=True)
    joined_at: DateTime = column("Since when it takes part.", filter=True, order=True)
    left_at: DateTime | None = column("When it was removed; null while it takes part.", filter=True, order=True)
    agent_id: strawberry.ID = column("Which agent.", prefix=Prefix.AGENT, filter=True, group=True)
    agent = one("Agent", _AGENTS, "Which agent.", on=lambda participant, agent: agent.id == participant.agent_id)
    conversation = one(
        "Conversation", _HERE, "In which conversation.",
        on=lambda participant, conversation: conversation.id == participant.conversation_id,
    )  # fmt: skip


@mapped(models.Message.__table__, prefix=Prefix.MESSAGE, scope=readable_within)
@strawberry.type(description="Something that was said: one step of a conversation. It never changes.")
class Message(Node):
    number: int = column("Its place in the conversation, from 1, without gaps.", filter=True, order=True)
    step_id: str = expression("Its number as a name, such as `step-3`.", _step_id)
    author: models.MessageAuthor = column("Who speaks.", filter=True, group=True)
    author_name: str = column("The name of who speaks, up to 120 characters.", filter=True, group=True)
    text: str = column("What its parts say, in words; a user's has 1 to 50,000 characters.", filter=True)
    parts: JSON = column(
        "Its parts in order, 1 to 50, each an object with `type` and one more field: `TEXT` with `text`, `DATA` with "
        "`data`, `REFERENCE` with `reference`."
    )
    artifacts: list[str] = column("References to large content that goes with it; at most 50.")
    cost: Usd = column("What it cost to make, delegations included; 0 for a user's.", filter=True, aggregate=True)
    handoff_triggered: bool | None = column(
        "Whether the conversation was handed over after it; null where nobody looked.", filter=True, group=True
    )
    created_at: DateTime = column("When it was said.", filter=True, order=True, group=True, aggregate=True)
    conversation_id: strawberry.ID = column(
        "In which conversation.", prefix=Prefix.CONVERSATION, filter=True, group=True
    )
    agent_id: strawberry.ID | None = column(
        "The agent that speaks; null for others.", prefix=Prefix.AGENT, filter=True, group=True
    )
    conversation = one(
        "Conversation", _HERE, "In which conversation.",
        on=lambda message, conversation: conversation.id == message.conversation_id,
    )  # fmt: skip
    agent = one(
        "Agent", _AGENTS, "The agent that speaks; null for others.", nullable=True,
        on=lambda message, agent: agent.id == message.agent_id,
    )  # fmt: skip
    in_reply_to = one(
        "Message", _HERE, "The message that it answers; null: none.", nullable=True,
        on=lambda message, other: other.id == message.in_reply_to_id,
    )  # fmt: skip
    reply = one(
        "Reply", _HERE, "How it is or was answered; null for what nobody is to answer.", nullable=True,
        on=lambda message, reply: reply.message_id == message.id,
    )  # fmt: skip
    routing_decision = one(
        "RoutingDecision", _ROUTING, "Who was chosen to answer, and why: of a user's message and of its answer; null "
        "for others.", nullable=True, on=lambda message, decision: decision.id == message.decision_id,
    )  # fmt: skip
    task = one(
        "Task", _TASKS, "The work that it is the result of; null for a user's, and for one made of several replies.",
        nullable=True, on=lambda message, task: task.id == message.task_id,
    )  # fmt: skip
    next_step = one(
        "StepDecision", _HANDOFFS, "What was decided after an agent's reply; null for others.", nullable=True,
        on=lambda message, decision: decision.message_id == message.id,
    )  # fmt: skip
    handoff_target = one(
        "Agent", _AGENTS, "To whom the conversation was handed over after it; null: to nobody.", nullable=True,
        on=lambda message, agent: agent.id == message.handoff_target_id,
    )  # fmt: skip


@mapped(models.Reply.__table__, prefix=Prefix.REPLY, scope=readable_within)
@strawberry.type(description="The answering of one message: who was chosen, how far they are, and what it became.")
class Reply(Node):
    strategy: Strategy = column("How the chosen agents work together.", filter=True, group=True)
    status: models.ReplyStatus = column("How far it is.", filter=True, group=True)
    number: int = column("The number of the message that is answered; replies take their turns in this order.")
    timeout_seconds: int = column("How long each agent may take, its turn waited for included.", name="timeout_s")
    error: str | None = column("Why there is no answer, in words; null otherwise.", filter=True)
    cost: Usd = column("What all chosen agents cost, delegations included.", filter=True, aggregate=True)
    created_at: DateTime = column("When it was asked for.", filter=True, order=True, group=True, aggregate=True)
    started_at: DateTime | None = column("When its turn came; null before.", filter=True, order=True)
    ended_at: DateTime | None = column(
        "When it ended; null before.", name="finished_at", filter=True, order=True, aggregate=True
    )
    conversation = one(
        "Conversation", _HERE, "In which conversation.",
        on=lambda reply, conversation: conversation.id == reply.conversation_id,
    )  # fmt: skip
    message = one(
        "Message", _HERE, "The message that is answered.", on=lambda reply, message: message.id == reply.message_id
    )
    answer = one(
        "Message", _HERE, "The message that it became: an agent's, or a system message when nobody could answer; null "
        "before, and when cancelled.", nullable=True, on=lambda reply, message: message.id == reply.answer_id,
    )  # fmt: skip
    routing_decision = one(
        "RoutingDecision", _ROUTING, "Who was chosen, and why; null where an agent went on by itself.", nullable=True,
        on=lambda reply, decision: decision.id == reply.decision_id,
    )  # fmt: skip
    contributions = many(
        "Contribution", _HERE, "What each chosen agent made of it, the best match first.",
        on=lambda reply, contribution: contribution.reply_id == reply.id,
    )  # fmt: skip


@mapped(models.Contribution.__table__, prefix=Prefix.CONTRIBUTION, scope=readable_contribution)
@strawberry.type(description="One chosen agent's own reply to a message.")
class Contribution(Node):
    place: int = column("Its rank among the chosen, from 1.", filter=True, order=True)
    status: models.ContributionStatus = column("How far it is.", filter=True, group=True)
    text: str | None = column("What it replied; null before, and when it did not.", filter=True)
    error: str | None = column("Why it did not reply, in words; null otherwise.", filter=True)
    relevance: float | None = column(
        "How near its reply is to the message in meaning, 0 to 1; null where nothing was compared.",
        filter=True, order=True, aggregate=True,
    )  # fmt: skip
    use: models.ContributionUse | None = column(
        "What became of it in the answer; null while there is none.", filter=True, group=True
    )
    agent_id: strawberry.ID = column("Which agent.", prefix=Prefix.AGENT, filter=True, group=True)
    agent = one("Agent", _AGENTS, "Which agent.", on=lambda contribution, agent: agent.id == contribution.agent_id)
    task = one(
        "Task", _TASKS, "Its work on it; null when it was not asked.", nullable=True,
        on=lambda contribution, task: task.id == contribution.task_id,
    )  # fmt: skip
    reply = one(
        "Reply", _HERE, "Part of which reply.", on=lambda contribution, reply: reply.id == contribution.reply_id
    )


for _type, _order in (
    (Conversation, None),
    (ConversationParticipant, None),
    (Message, "number"),
    (Reply, None),
    (Contribution, "place"),
):
    publish_connection(_type, default_order=_order)
