"""Holds a conversation still while it changes.

Locks are taken in one order: the team's row, agents by id, the conversation's row, tasks by id, budget accounts
upwards, shelves of memory.
"""

from __future__ import annotations

from collections.abc import Collection
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from app.agents import service as agents
from app.agents.models import Agent
from app.conversations.models import Conversation, ConversationStatus
from app.errors import Conflict, NotFound
from app.teams.models import Team


async def lock_agents(session: AsyncSession, team_id: UUID, ids: Collection[UUID]) -> list[Agent]:
    """The team's row, shared, and the agents' rows; raises NotFound."""
    if ids:
        await session.execute(select(Team.id).where(Team.id == team_id).with_for_update(read=True))
    return [await agents.lock(session, team_id, agent_id) for agent_id in sorted(ids)]


async def lock_conversation(session: AsyncSession, *, team_id: UUID, conversation_id: UUID) -> Conversation:
    """The conversation's row, held until the transaction ends; raises NotFound."""
    mine = select(Conversation).where(Conversation.team_id == team_id, Conversation.id == conversation_id)
    statement = mine.with_for_update(key_share=True).execution_options(populate_existing=True)
    found = await session.scalar(statement)
    if found is None:
        raise NotFound("There is no such conversation in this team.")
    return found


def refuse_closed(conversation: Conversation) -> None:
    if conversation.status is ConversationStatus.CLOSED:
        raise Conflict("This conversation is closed. Start another one.")
