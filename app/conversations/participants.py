"""Who takes part in a conversation. All of it happens while the conversation's row is held."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from uuid import UUID

from sqlalchemy import func, select
from sqlalchemy.ext.asyncio import AsyncSession

from app.agents.models import Agent, AgentStatus
from app.conversations.models import Conversation, ConversationParticipant, ParticipantRole
from app.conversations.narration import tell
from app.errors import Conflict, NotFound
from app.events.kinds import EventKind
from app.events.log import Actor
from app.follow_ups import service as follow_ups
from app.follow_ups.models import FollowUpKind
from app.ids import Prefix, to_global

MOST_PARTICIPANTS = 50
REMOVED = "It was removed from the conversation."


def add(session: AsyncSession, conversation: Conversation, agent_id: UUID, role: ParticipantRole) -> None:
    session.add(
        ConversationParticipant(
            team_id=conversation.team_id, conversation_id=conversation.id, agent_id=agent_id, role=role
        )
    )


async def join(
    session: AsyncSession, conversation: Conversation, agent_ids: Iterable[UUID], actor: Actor, *, bounded: bool = True
) -> None:
    """Let agents take part as invited ones; who already does stays as it is. Raises Conflict when it gets crowded,
    unless it is not `bounded`."""
    known = {one.agent_id: one for one in await rows(session, conversation)}
    wanted = [one for one in dict.fromkeys(agent_ids) if one not in known or known[one].left_at is not None]
    if wanted and bounded:
        refuse_crowd(sum(one.left_at is None for one in known.values()) + len(wanted))
    for agent_id in wanted:
        if (before := known.get(agent_id)) is not None:
            before.joined_at, before.left_at = func.now(), None
        else:
            add(session, conversation, agent_id, ParticipantRole.INVITED)
        tell(session, EventKind.CONVERSATION_AGENT_JOINED, conversation, actor, agent_id=agent_id)


async def leave(session: AsyncSession, conversation: Conversation, agent_ids: Collection[UUID], actor: Actor) -> None:
    """Raises NotFound for an agent that never took part, and Conflict for the primary one."""
    present = {one.agent_id: one for one in await rows(session, conversation)}
    if missing := set(agent_ids) - present.keys():
        named = ", ".join(to_global(Prefix.AGENT, one) for one in sorted(missing))
        raise NotFound(f"These agents have no part in the conversation: {named}.")
    if conversation.primary_agent_id in agent_ids:
        raise Conflict("The primary agent cannot be removed. Hand the conversation to another agent first.")
    for agent_id in sorted(agent_ids):
        if present[agent_id].left_at is None:
            present[agent_id].left_at = func.now()
            tell(session, EventKind.CONVERSATION_AGENT_LEFT, conversation, actor, agent_id=agent_id)


async def make_primary(session: AsyncSession, conversation: Conversation, agent_id: UUID, actor: Actor) -> None:
    """Let an agent have the conversation; who had it stays as the source of a handoff."""
    if conversation.primary_agent_id == agent_id:
        return
    await join(session, conversation, [agent_id], actor, bounded=False)  # nothing keeps it from a return
    await session.flush()
    known = {one.agent_id: one for one in await rows(session, conversation)}
    former: ConversationParticipant | None = known.get(conversation.primary_agent_id)
    if former is not None:
        former.role = ParticipantRole.HANDOFF_SOURCE
        await session.flush()  # there is one primary agent at every moment
    known[agent_id].role = ParticipantRole.PRIMARY
    conversation.primary_agent_id = agent_id
    await _look_after(session, conversation.team_id, agent_id)


async def _look_after(session: AsyncSession, team_id: UUID, agent_id: UUID) -> None:
    """Nobody stops the agent before it has the conversation. Whoever may be just about to is not waited for, against
    deadlocks: then what a stopped agent has is passed on once more afterwards."""
    mine = (Agent.id == agent_id) & (Agent.status == AgentStatus.ACTIVE)
    if await session.scalar(select(Agent.id).where(mine).with_for_update(read=True, skip_locked=True)) is None:
        follow_ups.schedule(session, FollowUpKind.AGENT_STOPPED, team_id=team_id, subject_id=agent_id)


async def takes_part(session: AsyncSession, conversation: Conversation, agent_id: UUID) -> bool:
    return any(one.agent_id == agent_id and one.left_at is None for one in await rows(session, conversation))


async def rows(session: AsyncSession, conversation: Conversation) -> list[ConversationParticipant]:
    mine = select(ConversationParticipant).where(ConversationParticipant.conversation_id == conversation.id)
    return list(await session.scalars(mine.execution_options(populate_existing=True)))


def refuse_crowd(count: int) -> None:
    if count > MOST_PARTICIPANTS:
        raise Conflict(f"At most {MOST_PARTICIPANTS} agents can take part in a conversation. Remove one first.")
