"""Tells the event log what happened in a conversation."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from app.conversations.models import Conversation, Message, Reply
from app.events.kinds import EventKind
from app.events.log import Actor, append
from app.ids import Prefix, to_global
from app.tasks.narration import excerpt


def tell(
    session: AsyncSession,
    kind: EventKind,
    conversation: Conversation,
    actor: Actor,
    *,
    agent_id: UUID | None = None,
    **changes: Any,
) -> None:
    append(
        session,
        kind,
        team_id=conversation.team_id,
        actor=actor,
        agent_id=agent_id,
        conversation_id=conversation.id,
        changes={"conversationId": to_global(Prefix.CONVERSATION, conversation.id), **changes},
    )


def tell_message(session: AsyncSession, conversation: Conversation, message: Message, actor: Actor) -> None:
    told: dict[str, Any] = {
        "messageId": to_global(Prefix.MESSAGE, message.id),
        "number": message.number,
        "author": message.author,
        "text": excerpt(message.text),
    }
    tell(session, EventKind.MESSAGE_ADDED, conversation, actor, agent_id=message.agent_id, **told)


def tell_reply(
    session: AsyncSession, kind: EventKind, conversation: Conversation, reply: Reply, actor: Actor, **changes: Any
) -> None:
    told: dict[str, Any] = {
        "replyId": to_global(Prefix.REPLY, reply.id),
        "messageId": to_global(Prefix.MESSAGE, reply.message_id),
        "strategy": reply.strategy,
        "status": reply.status,
    }
    tell(session, kind, conversation, actor, **told, **changes)
