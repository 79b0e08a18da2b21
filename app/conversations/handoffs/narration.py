"""What is said of a handoff: in the conversation itself, and in the event log."""

from __future__ import annotations

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from app.conversations import messages, narration
from app.conversations.handoffs.models import ConversationHandoff
from app.conversations.models import Conversation, Message, MessageAuthor
from app.conversations.spec import in_words
from app.events.kinds import EventKind
from app.events.log import SYSTEM, Actor
from app.ids import Prefix, to_global


def announce(session: AsyncSession, conversation: Conversation, text: str, actor: Actor) -> Message:
    return messages.add(
        session, conversation, in_words(text), author=MessageAuthor.SYSTEM, author_name=SYSTEM.name, actor=actor
    )


async def announcement(session: AsyncSession, conversation: Conversation) -> Message:
    """Of the handoff or return that has just been made: the last message of a held conversation."""
    await session.flush()
    mine = (Message.conversation_id == conversation.id) & (Message.number == conversation.last_number)
    return (await session.scalars(select(Message).where(mine))).one()


def tell(
    session: AsyncSession,
    kind: EventKind,
    conversation: Conversation,
    handoff: ConversationHandoff,
    actor: Actor,
    **changes: object,
) -> None:
    told = {
        "handoffId": to_global(Prefix.HANDOFF, handoff.id),
        "fromAgentId": to_global(Prefix.AGENT, handoff.from_agent_id),
        "toAgentId": to_global(Prefix.AGENT, handoff.to_agent_id),
        "returnPolicy": handoff.return_policy,
    }
    narration.tell(session, kind, conversation, actor, agent_id=handoff.to_agent_id, **told, **changes)
