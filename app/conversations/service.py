"""Starts conversations, changes who takes part, and closes them."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import func, select
from sqlalchemy.ext.asyncio import AsyncSession

from app.attention import service as attention
from app.conversations import participants, replies
from app.conversations.handoffs import service as handoffs
from app.conversations.locks import lock_agents, lock_conversation, refuse_closed
from app.conversations.models import MAX_USER_ID, Conversation, ConversationStatus, ParticipantRole
from app.conversations.narration import tell
from app.errors import InvalidInput, check_text
from app.events.kinds import EventKind
from app.events.log import Actor
from app.ids import new_id
from app.routing.errors import NoAgentAvailable
from app.tasks.availability import refuse_inactive
from app.teams.models import Team


@dataclass(frozen=True, slots=True)
class NewConversation:
    """Without a primary agent the team's default one is it."""

    primary_agent_id: UUID | None = None
    invited: frozenset[UUID] = frozenset()
    title: str = ""
    user_name: str | None = None
    user_id: str | None = None


async def start(session: AsyncSession, *, team_id: UUID, wanted: NewConversation, actor: Actor) -> Conversation:
    """Raises AgentUnavailable, NoAgentAvailable, Conflict, NotFound or InvalidInput."""
    title = check_text("title", wanted.title, most=200)
    user = actor.name if wanted.user_name is None else check_text("userName", wanted.user_name, least=1, most=120)
    user_id = None if wanted.user_id is None else check_text("userId", wanted.user_id, least=1, most=MAX_USER_ID)
    default = await session.scalar(select(Team.default_agent_id).where(Team.id == team_id))
    primary_id = wanted.primary_agent_id or default
    if primary_id is None:
        raise NoAgentAvailable
    invited = sorted(wanted.invited - {primary_id})
    participants.refuse_crowd(1 + len(invited))
    names = {}
    for agent in await lock_agents(session, team_id, {primary_id, *invited}):
        refuse_inactive(agent)
        names[agent.id] = agent.name
    conversation = Conversation(
        id=new_id(),
        team_id=team_id,
        title=title,
        status=ConversationStatus.OPEN,
        primary_agent_id=primary_id,
        user_name=user,
        user_id=user_id,
        created_by=actor.name,
        last_number=0,
    )
    session.add(conversation)
    await session.flush()
    participants.add(session, conversation, primary_id, ParticipantRole.PRIMARY)
    for agent_id in invited:
        participants.add(session, conversation, agent_id, ParticipantRole.INVITED)
    told = {"title": title, "primaryAgent": names[primary_id], "invited": [names[one] for one in invited]}
    tell(session, EventKind.CONVERSATION_STARTED, conversation, actor, agent_id=primary_id, **told)
    return conversation


async def change_agents(
    session: AsyncSession,
    *,
    team_id: UUID,
    conversation_id: UUID,
    add: Collection[UUID],
    remove: Collection[UUID],
    actor: Actor,
) -> Conversation:
    """Who is removed stops answering. Raises AgentUnavailable, Conflict, NotFound or InvalidInput; who already takes
    part, or left before, stays so."""
    if set(add) & set(remove):
        raise InvalidInput.of("remove", "names agents that are also to be added")
    for agent in await lock_agents(session, team_id, add):
        refuse_inactive(agent)
    conversation = await lock_conversation(session, team_id=team_id, conversation_id=conversation_id)
    refuse_closed(conversation)
    await participants.leave(session, conversation, remove, actor)
    await replies.stop_agents(session, conversation, remove, reason=participants.REMOVED, actor=actor)
    await participants.join(session, conversation, add, actor)
    return conversation


async def close(session: AsyncSession, *, team_id: UUID, conversation_id: UUID, actor: Actor) -> Conversation:
    """What is being answered, or waits to be, is cancelled. Raises Conflict when it is closed already."""
    conversation = await lock_conversation(session, team_id=team_id, conversation_id=conversation_id)
    refuse_closed(conversation)
    await close_held(session, conversation, reason="The conversation was closed.", actor=actor)
    return conversation


async def close_held(session: AsyncSession, conversation: Conversation, *, reason: str, actor: Actor) -> None:
    """As `close`, of a held conversation that is open."""
    await replies.cancel_unfinished(session, conversation, reason=reason, actor=actor)
    await handoffs.end_all(session, conversation, reason=reason, actor=actor)
    await attention.withdraw_of_conversation(session, conversation.id, actor=actor)
    conversation.status, conversation.closed_at = ConversationStatus.CLOSED, func.now()
    tell(session, EventKind.CONVERSATION_CLOSED, conversation, actor, messages=conversation.last_number)
