"""Adds messages to conversations, in one order without gaps; a user's message is also to be answered."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from app.agents.models import Agent
from app.conversations import participants, replies
from app.conversations.locks import lock_conversation, refuse_closed
from app.conversations.models import Conversation, Message, MessageAuthor, Reply
from app.conversations.narration import tell_message
from app.conversations.spec import Content
from app.errors import Forbidden, InvalidInput, NotFound
from app.events.log import Actor
from app.ids import new_id
from app.routing import service as routing
from app.routing.service import Draft

TIMEOUT_S = range(1, 3_601)


class WhileAnswering(StrEnum):
    """What a message does that comes while an earlier one is being answered."""

    QUEUE = "queue"
    INTERRUPT = "interrupt"


@dataclass(frozen=True, slots=True)
class NewMessage:
    """With an agent it is that agent's own word, which nobody answers; else a user's."""

    conversation_id: UUID
    content: Content
    id: UUID
    agent_id: UUID | None = None
    in_reply_to_id: UUID | None = None
    while_answering: WhileAnswering = WhileAnswering.QUEUE
    timeout_s: int = 300


async def send(
    session: AsyncSession, *, team_id: UUID, wanted: NewMessage, draft: Draft | None, actor: Actor
) -> tuple[Message, Reply | None]:
    """`draft` says who answers. Raises Conflict, Forbidden, NotFound or InvalidInput; then nothing was written."""
    if wanted.timeout_s not in TIMEOUT_S:
        raise InvalidInput.of("timeoutSeconds", f"must be {TIMEOUT_S[0]} to {TIMEOUT_S[-1]:,}")
    conversation = await lock_conversation(session, team_id=team_id, conversation_id=wanted.conversation_id)
    refuse_closed(conversation)
    if wanted.agent_id is not None and not await participants.takes_part(session, conversation, wanted.agent_id):
        raise Forbidden("This key acts as one agent, which has no part in this conversation. Have it added first.")
    await _check_answered(session, conversation, wanted.in_reply_to_id)
    name = await session.scalar(select(Agent.name).where(Agent.id == wanted.agent_id)) if wanted.agent_id else None
    message = add(
        session,
        conversation,
        wanted.content,
        actor=actor,
        message_id=wanted.id,
        author=MessageAuthor.AGENT if name else MessageAuthor.USER,
        author_name=name or conversation.user_name,
        agent_id=wanted.agent_id,
        in_reply_to_id=wanted.in_reply_to_id,
    )
    await session.flush()
    if draft is None:
        return message, None
    message.decision_id = await routing.record(session, draft, actor=actor)
    await participants.join(session, conversation, draft.decision["selected_agent_ids"], actor)
    if wanted.while_answering is WhileAnswering.INTERRUPT:
        await replies.cancel_unfinished(session, conversation, reason="Another message interrupted it.", actor=actor)
    return message, await replies.open_reply(session, message, draft, timeout_s=wanted.timeout_s, actor=actor)


def add(
    session: AsyncSession,
    conversation: Conversation,
    content: Content,
    *,
    author: MessageAuthor,
    author_name: str,
    actor: Actor,
    message_id: UUID | None = None,
    agent_id: UUID | None = None,
    in_reply_to_id: UUID | None = None,
    decision_id: UUID | None = None,
    task_id: UUID | None = None,
    cost: Decimal = Decimal(0),
) -> Message:
    """The next message of a locked conversation, and the event that tells of it."""
    conversation.last_number += 1
    message = Message(
        id=message_id or new_id(),
        team_id=conversation.team_id,
        conversation_id=conversation.id,
        number=conversation.last_number,
        author=author,
        author_name=author_name,
        agent_id=agent_id,
        text=content.text,
        parts=list(content.parts),
        artifacts=list(content.artifacts),
        in_reply_to_id=in_reply_to_id,
        decision_id=decision_id,
        task_id=task_id,
        cost=cost,
    )
    session.add(message)
    tell_message(session, conversation, message, actor)
    return message


async def _check_answered(session: AsyncSession, conversation: Conversation, message_id: UUID | None) -> None:
    if message_id is None:
        return
    found = select(Message.id).where(Message.conversation_id == conversation.id, Message.id == message_id)
    if await session.scalar(found) is None:
        raise NotFound("There is no such message in this conversation (inReplyToId).")
