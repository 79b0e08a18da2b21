"""Mutations of messages between agents."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import strawberry

from app.auth.roles import Permission
from app.errors import InvalidInput
from app.events import cursor
from app.events.cursor import EventCursor, InvalidCursor
from app.ids import Prefix, from_global
from app.messages import inbox, service
from app.messages.channels import TEAM, Channel, direct, parse_channel
from app.messages.inbox import MOST_IDS
from app.messages.models import MAX_BODY, MAX_SUBJECT, AgentMessageType
from app.messages.service import Outgoing
from app.messages.spec import LONGEST_LIFE, MessageSpec
from graphql_schema.agents.types import Agent
from graphql_schema.messages.types import AgentMessage
from graphql_schema.mutations import MutationInput, Payload, Work, mutation
from graphql_schema.planner.mapping import entity
from graphql_schema.refusals import (
    AgentUnavailable,
    ChannelClosed,
    InboxFull,
    NoDirectMessages,
    NotFound,
    NotInChannel,
    QuotaExceeded,
)
from graphql_schema.scalars import Cursor, DateTime
from graphql_schema.tasks.acting import acting_as, given, parsed

_REFUSALS = (NotFound, AgentUnavailable, NoDirectMessages, NotInChannel, ChannelClosed, InboxFull, QuotaExceeded)


@strawberry.input(description="A message to all of the team.")
class BroadcastAgentMessageInput(MutationInput):
    body: str = strawberry.field(description=f"What to say, 1 to {MAX_BODY:,} characters.")
    from_agent_id: strawberry.ID | None = strawberry.field(
        default=None, description="Who says it. Left out: the agent that the key acts as."
    )
    type: AgentMessageType = strawberry.field(default=AgentMessageType.NOTIFICATION, description="What it is.")
    subject: str = strawberry.field(default="", description=f"A few words, up to {MAX_SUBJECT} characters.")
    task_id: strawberry.ID | None = strawberry.field(default=None, description="The task that it is about.")
    reply_to_id: strawberry.ID | None = strawberry.field(
        default=None, description="The message that it answers; one that the sender sent or received."
    )
    expires_at: DateTime | None = strawberry.field(
        default=None,
        description="When it means nothing any more: it then no longer counts as unread and can still be read. In the "
        f"future, at most {LONGEST_LIFE.days} days ahead; null: never.",
    )


@strawberry.input(description="A message to one agent, or to a channel; exactly one of the two is named.")
class SendAgentMessageInput(BroadcastAgentMessageInput):
    to_agent_id: strawberry.ID | None = strawberry.field(default=None, description="The one agent that it is for.")
    channel: str | None = strawberry.field(
        default=None,
        description="`team`, or `task:{id}` such as `task:task_0190…`: all who gave or have that task or one above it, "
        "or `collab:{id}`: the participants of a collaboration session. Only members may write to the last two.",
    )


@strawberry.input(description="What an agent has read: everything up to a place, or single messages; one of the two.")
class AcknowledgeInboxInput(MutationInput):
    agent_id: strawberry.ID | None = strawberry.field(
        default=None, description="Whose inbox. Left out: that of the agent that the key acts as."
    )
    through: Cursor | None = strawberry.field(
        default=None,
        description="Everything up to here: the `cursor` of an entry, or of an item of inboxEvents.",
    )
    message_ids: list[strawberry.ID] | None = strawberry.field(
        default=None, description=f"These messages, 1 to {MOST_IDS}; all must be in the inbox."
    )


@strawberry.type(description="The message that was sent.")
class AgentMessagePayload(Payload):
    agent_message: AgentMessage = entity("The message.")


@strawberry.type(description="What was acknowledged.")
class AcknowledgeInboxPayload(Payload):
    agent: Agent = entity("Whose inbox.")
    acknowledged: int = strawberry.field(description="How many messages this marked as read; those before count not.")
    unread_count: int = strawberry.field(description="How many unread messages are left that have not expired.")


@mutation(
    "Sends a message to one agent or to a channel: into the inboxes of exactly those who are in it now, or of nobody. "
    "Messages of one sender that wait for each other's answers arrive in their order. An agent's key sends in its own "
    "agent's name.",
    needs=Permission.MESSAGE_AGENTS,
    refusals=_REFUSALS,
)
async def send_agent_message(work: Work, input: SendAgentMessageInput) -> AgentMessagePayload:
    return await _send(work, input, _channel(input))


@mutation(
    "Sends a message to every other active agent of the team, to all of them or, where an inbox is full, to none.",
    needs=Permission.MESSAGE_AGENTS,
    refusals=_REFUSALS,
)
async def broadcast_agent_message(work: Work, input: BroadcastAgentMessageInput) -> AgentMessagePayload:
    return await _send(work, input, TEAM)


@mutation(
    "Marks messages of an inbox as read, with the time; what is read already keeps its own. Makes room in the inbox. "
    "An agent's key acknowledges its own agent's.",
    needs=Permission.MESSAGE_AGENTS,
    refusals=(NotFound,),
)
async def acknowledge_inbox(work: Work, input: AcknowledgeInboxInput) -> AcknowledgeInboxPayload:
    agent_id = _agent(work, input.agent_id, "agentId")
    named = input.message_ids
    ids = (
        None if named is None else [_message(text, f"messageIds.{at}") for at, text in enumerate(named[: MOST_IDS + 1])]
    )
    done = await inbox.acknowledge(
        work.session,
        team_id=work.team_id,
        agent_id=agent_id,
        through=None if input.through is None else _place(input.through, work.team_id),
        message_ids=ids,
        actor=work.actor,
    )
    return AcknowledgeInboxPayload(agent=agent_id, acknowledged=done.count, unread_count=done.unread)  # type: ignore[arg-type]


async def _send(work: Work, input: BroadcastAgentMessageInput, channel: Channel) -> AgentMessagePayload:
    fields = given(input, "body", "type", "subject", "expires_at") | _links(input)
    sender_id = _agent(work, input.from_agent_id, "fromAgentId")
    message = await service.send(
        work.session,
        team_id=work.team_id,
        wanted=Outgoing(sender_id, channel, parsed(MessageSpec, fields)),
        limit=work.context.services.settings.inbox_limit,
        sender_limit=work.context.services.settings.inbox_limit_per_sender,
        actor=work.actor,
    )
    return AgentMessagePayload(agent_message=message.id)  # type: ignore[arg-type]


def _channel(input: SendAgentMessageInput) -> Channel:
    if (input.to_agent_id is None) == (input.channel is None):
        raise InvalidInput.of("toAgentId", "give either toAgentId or channel")
    if input.channel is not None:
        return parse_channel(input.channel)
    assert input.to_agent_id is not None
    return direct(from_global(Prefix.AGENT, input.to_agent_id, path="toAgentId"))


def _links(input: BroadcastAgentMessageInput) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if input.task_id is not None:
        found["task_id"] = from_global(Prefix.TASK, input.task_id, path="taskId")
    if input.reply_to_id is not None:
        found["reply_to_id"] = _message(input.reply_to_id, "replyToId")
    return found


def _agent(work: Work, text: str | None, path: str) -> UUID:
    named = from_global(Prefix.AGENT, text, path=path) if text else None
    acting = acting_as(work.principal, named, Permission.MESSAGE_AGENTS)
    if acting is None:
        raise InvalidInput.of(path, "is needed, because this key acts as no agent of its own")
    return acting


def _message(text: str, path: str) -> UUID:
    return from_global(Prefix.AGENT_MESSAGE, text, path=path)


def _place(text: str, team_id: UUID) -> EventCursor:
    try:
        return cursor.decode(text, team_id)
    except InvalidCursor as error:
        raise InvalidInput.of("through", error.message) from None
