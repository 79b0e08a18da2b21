"""Mutations of conversations."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import strawberry

from app.auth.roles import Permission
from app.conversations import queries, replies, service
from app.conversations.handoffs import returning
from app.conversations.handoffs.wish import wanted_back
from app.conversations.messages import NewMessage, WhileAnswering
from app.conversations.models import MAX_USER_ID
from app.conversations.service import NewConversation
from app.conversations.spec import MAX_PARTS, MAX_TEXT, parse_content
from app.errors import Conflict as ConflictError
from app.errors import InvalidInput, check_text
from app.ids import Prefix, from_global, new_id
from app.routing.models import MAX_QUERY
from app.routing.select import Strategy
from app.routing.service import Draft
from app.routing.service import Message as Routed
from graphql_schema.context import Context
from graphql_schema.conversations.types import Conversation, Message, Reply
from graphql_schema.mutations import MutationInput, Payload, Work, mutation
from graphql_schema.planner.mapping import entity
from graphql_schema.refusals import AgentUnavailable, Conflict, NoAgentAvailable, NotFound
from graphql_schema.scalars import JSON

_MOST_AGENTS = 50


@strawberry.input(description="A new conversation.")
class StartConversationInput(MutationInput):
    agent_id: strawberry.ID | None = strawberry.field(
        default=None, description="The agent that has it; must be active. Null: the team's default agent."
    )
    invite: list[strawberry.ID] = strawberry.field(
        default_factory=list, description=f"More agents that take part; in all at most {_MOST_AGENTS}."
    )
    title: str = strawberry.field(default="", description="What it is about, up to 200 characters; may be empty.")
    user_name: str | None = strawberry.field(
        default=None, description="The user's name to show, 1 to 120 characters. Null: the key's name."
    )
    user_id: str | None = strawberry.field(
        default=None,
        description=f"Your own id of the user, 1 to {MAX_USER_ID} characters, the same in all conversations with that "
        "user: the `subject` of what is remembered of them. Null: agents know no profile and keep none.",
    )


@strawberry.input(description="A part of a message: exactly one of its fields.")
class MessagePartInput:
    text: str | None = strawberry.field(default=None, description=f"Words, 1 to {MAX_TEXT:,} characters.")
    data: JSON | None = strawberry.field(default=None, description="Data, as any JSON value but null.")
    reference: str | None = strawberry.field(
        default=None,
        description="A reference: artifact:…, memory:…, file:…, task:… or https://…, up to 2,000 characters.",
    )


@strawberry.input(
    description="A message. With the key of an agent it is that agent's own word; else a user's. Nobody answers an "
    "agent's own word, so with such a key nothing may be said about who answers, how and when."
)
class SendMessageInput(MutationInput):
    conversation_id: strawberry.ID = strawberry.field(description="In which conversation.")
    text: str | None = strawberry.field(
        default=None, description=f"What is said. With all parts together 1 to {MAX_TEXT:,} characters."
    )
    parts: list[MessagePartInput] = strawberry.field(
        default_factory=list, description=f"More parts, behind the text; in all 1 to {MAX_PARTS}."
    )
    artifacts: list[str] = strawberry.field(
        default_factory=list, description="References to large content that goes with it; at most 50."
    )
    in_reply_to_id: strawberry.ID | None = strawberry.field(
        default=None, description="The message of this conversation that it answers."
    )
    while_answering: WhileAnswering = strawberry.field(
        default=WhileAnswering.QUEUE,
        description="What happens when an earlier message is still being answered or waits for that.",
    )
    agent_id: strawberry.ID | None = strawberry.field(
        default=None, description="Who is to answer, whatever the scores; must be active. Null: routing decides."
    )
    strategy: Strategy | None = strawberry.field(default=None, description="Instead of the routing policy's.")
    k: int | None = strawberry.field(default=None, description="Instead of the policy's, 1 to 20.")
    threshold: float | None = strawberry.field(default=None, description="Instead of the policy's, 0 to 1.")
    model_tier: int | None = strawberry.field(
        default=None, description="Instead of the one that the complexity suggests, 0 to 2."
    )
    timeout_seconds: int | None = strawberry.field(
        default=None,
        description="How long each chosen agent may take, its turn and further attempts included, 1 to 3,600. Null: "
        "the setting PARLEY_REPLY_TIMEOUT_S.",
    )


@strawberry.input(description="Who is to take part in a conversation, and who no more.")
class UpdateConversationAgentsInput(MutationInput):
    conversation_id: strawberry.ID = strawberry.field(description="Which conversation.")
    add: list[strawberry.ID] = strawberry.field(
        default_factory=list, description=f"Agents to add; must be active. In all at most {_MOST_AGENTS}."
    )
    remove: list[strawberry.ID] = strawberry.field(
        default_factory=list,
        description="Agents to remove; not the primary one. What they are answering is stopped, and what they were "
        "chosen to answer goes on without them.",
    )


@strawberry.input(description="Which conversation.")
class CloseConversationInput(MutationInput):
    conversation_id: strawberry.ID = strawberry.field(description="Which conversation.")


@strawberry.input(description="Which reply, and why.")
class CancelReplyInput(MutationInput):
    reply_id: strawberry.ID = strawberry.field(description="Which reply.")
    reason: str = strawberry.field(default="", description="Why, to be read beside it; up to 500 characters.")


@strawberry.type(description="The reply after the change.")
class ReplyPayload(Payload):
    reply: Reply = entity("The reply, as it is now.")


@strawberry.type(description="The conversation after the change.")
class ConversationPayload(Payload):
    conversation: Conversation = entity("The conversation, as it is now.")


@strawberry.type(description="The message that was sent.")
class SendMessagePayload(Payload):
    sent: Message = entity("The message.")
    reply: Reply | None = entity("Its answering, as far as it is now; null for an agent's own message.")


def _ids(texts: list[strawberry.ID], path: str) -> frozenset[UUID]:
    return frozenset(from_global(Prefix.AGENT, text, path=f"{path}.{at}") for at, text in enumerate(texts))


def _optional(prefix: Prefix, text: str | None, path: str) -> UUID | None:
    return None if text is None else from_global(prefix, text, path=path)


@mutation(
    "Starts a conversation of a user with an agent, and with more agents where they are invited. It works with every "
    "feature flag off.",
    needs=Permission.MANAGE_CONVERSATIONS,
    refusals=(NotFound, AgentUnavailable, NoAgentAvailable, Conflict),
)
async def start_conversation(work: Work, input: StartConversationInput) -> ConversationPayload:
    wanted = NewConversation(
        primary_agent_id=_optional(Prefix.AGENT, input.agent_id, "agentId"),
        invited=_ids(input.invite, "invite"),
        title=input.title,
        user_name=input.user_name,
        user_id=input.user_id,
    )
    made = await service.start(work.session, team_id=work.team_id, wanted=wanted, actor=work.actor)
    return ConversationPayload(conversation=made.id)  # type: ignore[arg-type]


def _refuse_answering(input: SendMessageInput) -> None:
    """Nobody answers what an agent's key says, so nothing can be said about how."""
    asked = {
        "agentId": input.agent_id,
        "strategy": input.strategy,
        "k": input.k,
        "threshold": input.threshold,
        "modelTier": input.model_tier,
        "timeoutSeconds": input.timeout_seconds,
        "whileAnswering": input.while_answering if input.while_answering is not WhileAnswering.QUEUE else None,
    }
    for path in (path for path, value in asked.items() if value is not None):
        raise InvalidInput.of(path, "cannot be given with an agent's key: nobody answers what it says")


async def _prepare(context: Context, input: SendMessageInput) -> tuple[NewMessage, Draft | None, UUID | None]:
    """Who answers is decided before the transaction; only what a user says is to be answered, and may ask for an agent
    back that handed the conversation over."""
    principal, services = context.principal, context.services
    if principal.agent_id is not None:
        _refuse_answering(input)
    conversation_id = from_global(Prefix.CONVERSATION, input.conversation_id, path="conversationId")
    known = await queries.known(services.database, team_id=principal.team_id, conversation_id=conversation_id)
    parts = [{"text": part.text, "data": part.data, "reference": part.reference} for part in input.parts]
    content = parse_content(input.text, parts, input.artifacts)
    timeout_s = services.settings.reply_timeout_s if input.timeout_seconds is None else input.timeout_seconds
    wanted = NewMessage(
        conversation_id=conversation_id,
        content=content,
        id=new_id(),
        agent_id=principal.agent_id,
        in_reply_to_id=_optional(Prefix.MESSAGE, input.in_reply_to_id, "inReplyToId"),
        while_answering=input.while_answering,
        timeout_s=timeout_s,
    )
    if principal.agent_id is not None:
        return wanted, None, None
    if known.closed:
        raise ConflictError("This conversation is closed. Start another one.")
    named = _optional(Prefix.AGENT, input.agent_id, "agentId")
    former = await returning.former(services.database, team_id=principal.team_id, conversation_id=conversation_id)
    back_to = wanted_back(content.text, former) if named is None else None
    routed = Routed(
        text=content.text[:MAX_QUERY],
        agent_id=back_to.id if back_to else named,
        direct_agent_id=known.primary_agent_id,
        current_agent_id=known.primary_agent_id,
        conversation_id=conversation_id,
        message_id=wanted.id,
        strategy=input.strategy,
        k=input.k,
        threshold=input.threshold,
        model_tier=input.model_tier,
        without=known.removed,
    )
    draft = await services.routing.decide(principal.team_id, routed)
    return wanted, draft, back_to.id if back_to else None


@mutation(
    "Says something in a conversation. What a user says is routed and answered by the chosen agents, each by a task of "
    "its own; the answer comes as a further message, and `reply` tells how far it is. What an agent's key says is that "
    "agent's own word, and nobody answers it. `@kyra` and `go back to Kyra` return a conversation that Kyra "
    "handed over.",
    needs=Permission.SEND_MESSAGES,
    refusals=(NotFound, AgentUnavailable, NoAgentAvailable, Conflict),
    prepare=_prepare,
)
async def send_message(work: Work, input: SendMessageInput) -> SendMessagePayload:
    wanted, draft, back_to = work.prepared
    message, reply = await returning.send(
        work.session, team_id=work.team_id, wanted=wanted, draft=draft, back_to=back_to, actor=work.actor
    )
    answering: Any = reply.id if reply else None
    return SendMessagePayload(sent=message.id, reply=answering)  # type: ignore[arg-type]


@mutation(
    "Adds agents to a conversation and removes agents from it. Each that takes part sees all of its history.",
    needs=Permission.MANAGE_CONVERSATIONS,
    refusals=(NotFound, AgentUnavailable, Conflict),
)
async def update_conversation_agents(work: Work, input: UpdateConversationAgentsInput) -> ConversationPayload:
    changed = await service.change_agents(
        work.session,
        team_id=work.team_id,
        conversation_id=from_global(Prefix.CONVERSATION, input.conversation_id, path="conversationId"),
        add=_ids(input.add, "add"),
        remove=_ids(input.remove, "remove"),
        actor=work.actor,
    )
    return ConversationPayload(conversation=changed.id)  # type: ignore[arg-type]


@mutation(
    "Stops the answering of a message, or keeps it from beginning: the agents' work on it ends at once, and the one "
    "that waits next takes its turn.",
    needs=Permission.MANAGE_CONVERSATIONS,
    refusals=(NotFound, Conflict),
)
async def cancel_reply(work: Work, input: CancelReplyInput) -> ReplyPayload:
    reply = await replies.cancel(
        work.session,
        team_id=work.team_id,
        reply_id=from_global(Prefix.REPLY, input.reply_id, path="replyId"),
        reason=check_text("reason", input.reason, most=500),
        actor=work.actor,
    )
    return ReplyPayload(reply=reply.id)  # type: ignore[arg-type]


@mutation(
    "Closes a conversation for good: what is being answered is stopped, and no message is taken any more.",
    needs=Permission.MANAGE_CONVERSATIONS,
    refusals=(NotFound, Conflict),
)
async def close_conversation(work: Work, input: CloseConversationInput) -> ConversationPayload:
    closed = await service.close(
        work.session,
        team_id=work.team_id,
        conversation_id=from_global(Prefix.CONVERSATION, input.conversation_id, path="conversationId"),
        actor=work.actor,
    )
    return ConversationPayload(conversation=closed.id)  # type: ignore[arg-type]
