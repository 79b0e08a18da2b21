"""Takes a user's message that asks for an agent back: the conversation returns, and that agent answers."""

from __future__ import annotations

from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from app.conversations import messages
from app.conversations.handoffs import service, stack
from app.conversations.handoffs.wish import Former
from app.conversations.locks import lock_conversation
from app.conversations.messages import NewMessage
from app.conversations.models import Message, Reply
from app.db.engine import Database
from app.events.log import Actor
from app.routing.service import Draft

_FORMER = """
select agent.id, agent.slug, agent.name from conversation_handoff as handoff join agent on agent.id = from_agent_id
where handoff.team_id = $1 and handoff.conversation_id = $2 and handoff.ended_at is null and agent.status = 'active'
order by handoff.number desc
"""


async def former(database: Database, *, team_id: UUID, conversation_id: UUID) -> list[Former]:
    """Active agents that had the conversation and handed it over, the latest first."""
    rows = await database.fetch(_FORMER, team_id, conversation_id)
    found = {row["id"]: Former(row["id"], row["slug"], row["name"]) for row in rows}
    return list(found.values())


async def send(
    session: AsyncSession,
    *,
    team_id: UUID,
    wanted: NewMessage,
    draft: Draft | None,
    back_to: UUID | None,
    actor: Actor,
) -> tuple[Message, Reply | None]:
    """As `messages.send`. Where meanwhile nobody waits for the conversation any more, it stays where it is."""
    sent = await messages.send(session, team_id=team_id, wanted=wanted, draft=draft, actor=actor)
    if back_to is not None:
        conversation = await lock_conversation(session, team_id=team_id, conversation_id=wanted.conversation_id)
        if any(one.from_agent_id == back_to for one in await stack.unended(session, conversation)):
            reason = f"{conversation.user_name} asked for it."
            await service.returned(session, conversation, to_agent_id=back_to, result="", reason=reason, actor=actor)
    return sent
