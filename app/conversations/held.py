"""A reply held by one transaction: its conversation's row, the message that it answers, and who was chosen."""

from __future__ import annotations

from uuid import UUID

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from app.conversations import replies
from app.conversations.locks import lock_agents, lock_conversation
from app.conversations.models import Contribution, ContributionStatus, Conversation, Message, Reply


class Held:
    """A reply whose conversation is held, with all that a step needs to know."""

    def __init__(self, conversation: Conversation, reply: Reply, question: Message, chosen: list[Contribution]) -> None:
        self.conversation, self.reply, self.question, self.chosen = conversation, reply, question, chosen

    def by_id(self, contribution_id: UUID) -> Contribution:
        return next(one for one in self.chosen if one.id == contribution_id)


async def hold(session: AsyncSession, team_id: UUID, reply_id: UUID) -> Held | None:
    """Who was chosen never changes, so the agents can be held before the conversation is."""
    mine = select(Reply.conversation_id).where(Reply.team_id == team_id, Reply.id == reply_id)
    conversation_id = await session.scalar(mine)
    if conversation_id is None:
        return None
    chosen = await replies.contributions_of(session, [reply_id])
    waiting = {one.agent_id for one in chosen if one.status is ContributionStatus.WAITING}
    await lock_agents(session, team_id, waiting)
    conversation = await lock_conversation(session, team_id=team_id, conversation_id=conversation_id)
    reply = await session.get_one(Reply, reply_id, populate_existing=True)
    question = await session.get_one(Message, reply.message_id)
    return Held(conversation, reply, question, await replies.contributions_of(session, [reply_id]))
