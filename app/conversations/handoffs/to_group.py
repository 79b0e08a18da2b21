"""Who of a group takes a conversation over."""

from __future__ import annotations

from collections.abc import Mapping
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from app.conversations.handoffs.models import ConversationHandoff
from app.conversations.models import Conversation
from app.groups import service as groups
from app.groups.picking import Picked, pick


async def taker_of(
    session: AsyncSession,
    *,
    team_id: UUID,
    conversation_id: UUID,
    group_id: UUID,
    text: str,
    matches: Mapping[str, float] | None = None,
) -> Picked:
    """Neither who has the conversation nor who waits for its return. Raises what `pick` raises, and NotFound."""
    group = await groups.find(session, team_id, group_id)
    holder = select(Conversation.primary_agent_id).where(
        Conversation.team_id == team_id, Conversation.id == conversation_id
    )
    waiting = select(ConversationHandoff.from_agent_id).where(
        ConversationHandoff.team_id == team_id,
        ConversationHandoff.conversation_id == conversation_id,
        ConversationHandoff.outcome.is_(None),
    )
    exclude = {*await session.scalars(holder), *await session.scalars(waiting)}
    return await pick(session, group, text, matches=matches, exclude=exclude)
