"""What brings a conversation back by itself: the time of its handoff is over, or the agent that has it was stopped."""

from __future__ import annotations

from uuid import UUID

from sqlalchemy import Select, func, select
from sqlalchemy.ext.asyncio import AsyncSession

from app.agents.models import Agent, AgentStatus
from app.conversations.handoffs import stack
from app.conversations.handoffs.ending import bring_back
from app.conversations.handoffs.models import ConversationHandoff, HandoffOutcome, ReturnPolicy
from app.conversations.handoffs.service import hand_over
from app.conversations.locks import lock_agents, lock_conversation
from app.conversations.models import Conversation, ConversationStatus
from app.events.log import SYSTEM
from app.follow_ups import service as follow_ups
from app.follow_ups.models import FollowUpKind
from app.teams.models import Team


async def due(session: AsyncSession, team_id: UUID, handoff_id: UUID) -> None:
    """The time of a handoff is over, or who took over was stopped: bring the conversation back if it is still away."""
    mine = select(ConversationHandoff.conversation_id).where(
        ConversationHandoff.team_id == team_id, ConversationHandoff.id == handoff_id
    )
    conversation_id = await session.scalar(mine)
    if conversation_id is None:
        return
    conversation = await lock_conversation(session, team_id=team_id, conversation_id=conversation_id)
    handoff = await session.get_one(ConversationHandoff, handoff_id, populate_existing=True)
    agent = await session.get_one(Agent, handoff.to_agent_id, populate_existing=True)
    over = await session.scalar(select(func.clock_timestamp() >= handoff.due_at))
    if handoff.ended_at is not None:
        return
    if agent.status is not AgentStatus.ACTIVE:
        reason = f"{agent.name} is {agent.status.value}."
        await bring_back(session, conversation, handoff, HandoffOutcome.AGENT_UNAVAILABLE, reason)
    elif over:
        await bring_back(session, conversation, handoff, HandoffOutcome.TIMED_OUT, "Its time was over.")


async def agent_stopped(session: AsyncSession, team_id: UUID, agent_id: UUID) -> None:
    """An agent was paused or archived: what it has passes to somebody else, and what was handed to it is to come back.
    Each conversation gets a follow-up job of its own, so that no two are ever locked together."""
    default_id = await session.scalar(select(Team.default_agent_id).where(Team.id == team_id))
    held = await lock_agents(session, team_id, {agent_id, default_id or agent_id})
    agents = {agent.id: agent for agent in held if agent.status is AgentStatus.ACTIVE}
    if agent_id in agents:
        return
    stopped = next(agent for agent in held if agent.id == agent_id)
    if await _pass_next_on(session, stopped, agents.get(default_id) if default_id else None):
        follow_ups.schedule(session, FollowUpKind.AGENT_STOPPED, team_id=team_id, subject_id=agent_id)
        return
    away = select(ConversationHandoff.id).where(
        ConversationHandoff.team_id == team_id,
        ConversationHandoff.to_agent_id == agent_id,
        ConversationHandoff.ended_at.is_(None),
        ConversationHandoff.return_policy != ReturnPolicy.NONE,
    )
    for handoff_id in await session.scalars(away):
        follow_ups.schedule(session, FollowUpKind.HANDOFF_DUE, team_id=team_id, subject_id=handoff_id)


async def _pass_next_on(session: AsyncSession, stopped: Agent, default: Agent | None) -> bool:
    """Let somebody else have one of the conversations that a stopped agent has: who handed it over, or the team's
    default agent. Whether there was one."""
    conversation_id = await session.scalar(_held_by(stopped, anybody=default is not None))
    if conversation_id is None:
        return False
    conversation = await lock_conversation(session, team_id=stopped.team_id, conversation_id=conversation_id)
    if conversation.primary_agent_id != stopped.id or conversation.status is ConversationStatus.CLOSED:
        return True
    reason = f"{stopped.name} is {stopped.status.value}."
    handoffs = await stack.unended(session, conversation)
    last = stack.last_to(handoffs, stopped.id)
    if last is not None:
        await bring_back(session, conversation, last, HandoffOutcome.AGENT_UNAVAILABLE, reason)
    if default is not None and conversation.primary_agent_id == stopped.id:
        await hand_over(
            session,
            conversation,
            giver=stopped,
            taker=default,
            reason=reason,
            summary=reason,
            policy=ReturnPolicy.NONE,
            actor=SYSTEM,
        )
    return conversation.primary_agent_id != stopped.id


def _held_by(stopped: Agent, *, anybody: bool) -> Select[UUID]:
    """The first of its open conversations; without `anybody` the first that an active agent had before."""
    former = select(ConversationHandoff.id).join(Agent, Agent.id == ConversationHandoff.from_agent_id)
    active = former.where(
        ConversationHandoff.conversation_id == Conversation.id,
        ConversationHandoff.ended_at.is_(None),
        Agent.status == AgentStatus.ACTIVE,
    )
    mine = select(Conversation.id).where(
        Conversation.team_id == stopped.team_id,
        Conversation.primary_agent_id == stopped.id,
        Conversation.status == ConversationStatus.OPEN,
    )
    return (mine if anybody else mine.where(active.exists())).order_by(Conversation.id).limit(1)
