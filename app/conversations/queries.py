"""Reads of conversations that need no lock."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from app.conversations.locks import refuse_closed
from app.conversations.models import Conversation
from app.conversations.participants import takes_part
from app.db.engine import Database
from app.errors import Forbidden, NotFound

_KNOWN = """
select primary_agent_id, status = 'closed' as closed, exists (
    select from conversation_participant as one
    where one.conversation_id = conversation.id and one.agent_id = $3 and one.left_at is null
) as takes_part, array(
    select agent_id from conversation_participant as one
    where one.conversation_id = conversation.id and one.left_at is not null
) as removed
from conversation where team_id = $1 and id = $2
"""


_SPEAKS_WITH = """
select exists (
    select from conversation join conversation_participant as one on one.conversation_id = conversation.id
    where conversation.team_id = $1 and conversation.user_id = $3 and conversation.status = 'open'
        and one.agent_id = $2 and one.left_at is null
)
"""


_NAMED = """
select $2::uuid is null or exists (select from conversation where team_id = $1 and id = $2) as has_conversation,
    $3::uuid is null or exists (
        select from message where team_id = $1 and id = $3 and ($2::uuid is null or conversation_id = $2)
    ) as has_message
"""


@dataclass(frozen=True, slots=True)
class Known:
    primary_agent_id: UUID
    closed: bool
    takes_part: bool
    removed: frozenset[UUID]


async def known(database: Database, *, team_id: UUID, conversation_id: UUID, agent_id: UUID | None = None) -> Known:
    """What may change the next moment; `takes_part` is about the agent. Raises NotFound."""
    row = await database.fetchrow(_KNOWN, team_id, conversation_id, agent_id)
    if row is None:
        raise NotFound("There is no such conversation in this team.")
    return Known(row["primary_agent_id"], row["closed"], row["takes_part"], frozenset(row["removed"]))


async def require_open(session: AsyncSession, *, team_id: UUID, conversation_id: UUID, agent_id: UUID | None) -> None:
    """Raises NotFound, Conflict of a closed one, or Forbidden to who acts as an agent that has no part in it."""
    mine = select(Conversation).where(Conversation.team_id == team_id, Conversation.id == conversation_id)
    found = await session.scalar(mine)
    if found is None:
        raise NotFound("There is no such conversation in this team (conversationId).")
    if agent_id is not None and not await takes_part(session, found, agent_id):
        raise Forbidden("This key acts as one agent, which has no part in this conversation. Have it added first.")
    refuse_closed(found)


async def require_speaking_with(database: Database, *, team_id: UUID, agent_id: UUID, user_id: str) -> None:
    """Raises Forbidden unless the agent takes part in an open conversation with this user."""
    if not await database.fetchval(_SPEAKS_WITH, team_id, agent_id, user_id):
        raise Forbidden(
            "An agent knows and tells of a user only while it takes part in an open conversation with them."
        )


async def require_message(
    database: Database, *, team_id: UUID, conversation_id: UUID | None, message_id: UUID | None
) -> None:
    """Raises NotFound unless the team has what is named, and the message belongs to the conversation."""
    if conversation_id is None and message_id is None:
        return
    row = await database.fetchrow(_NAMED, team_id, conversation_id, message_id)
    assert row is not None
    if not row["has_conversation"]:
        raise NotFound("There is no such conversation in this team (conversationId).")
    if not row["has_message"]:
        raise NotFound("There is no such message in this team, or not in that conversation (messageId).")
