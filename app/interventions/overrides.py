"""People decide otherwise: who answers, and to whom a handoff goes. Each says why, and routing learns from it."""

from __future__ import annotations

from uuid import UUID

from sqlalchemy import func, select
from sqlalchemy.ext.asyncio import AsyncSession

from app.agents.models import Agent
from app.config import Settings
from app.conversations import messages, replies
from app.conversations.handoffs import service as handoffs
from app.conversations.handoffs import stack
from app.conversations.handoffs.models import ConversationHandoff, HandoffOutcome, ReturnPolicy
from app.conversations.locks import lock_agents, lock_conversation, refuse_closed
from app.conversations.models import Conversation, ConversationStatus, Message, MessageAuthor
from app.conversations.narration import tell
from app.conversations.spec import in_words
from app.errors import Conflict, NotFound, check_text
from app.events.kinds import EventKind
from app.events.log import SYSTEM, Actor
from app.ids import Prefix, to_global
from app.routing import overrides
from app.routing.models import RoutingDecision
from app.tasks.availability import refuse_inactive

MAX_REASON = 400  # leaves room to say who decided


async def override_routing(
    session: AsyncSession,
    *,
    team_id: UUID,
    decision_id: UUID,
    agent_id: UUID,
    reason: str,
    settings: Settings,
    actor: Actor,
) -> RoutingDecision:
    """Another agent answers. In a conversation that is open it does so at once: what the selected ones still work on
    is stopped, and the conversation is handed over. Raises AgentUnavailable, Conflict, InvalidInput or NotFound."""
    reason = check_text("reason", reason, least=1, most=MAX_REASON)
    (taker,) = await lock_agents(session, team_id, {agent_id})
    refuse_inactive(taker)
    conversation = await _conversation_of(session, team_id, decision_id)
    going_on = conversation is not None and conversation.status is not ConversationStatus.CLOSED
    why = f"{actor.name} chose {taker.name} instead: {reason}"
    if conversation is not None and going_on:  # before it is recorded: to be stopped counts as an outcome, too
        await replies.cancel_decided(session, conversation, decision_id, reason=why, actor=actor)
    decision = await overrides.record(
        session, team_id=team_id, decision_id=decision_id, agent_id=agent_id, reason=reason, actor=actor
    )
    if conversation is not None and going_on:
        said = await _give_to(session, conversation, taker, why, actor)
        await replies.open_own(session, said, taker.id, settings.reply_timeout_s, actor)
    return decision


async def redirect_handoff(
    session: AsyncSession,
    *,
    team_id: UUID,
    handoff_id: UUID,
    agent_id: UUID,
    reason: str,
    settings: Settings,
    actor: Actor,
) -> ConversationHandoff:
    """Another agent takes over instead, under the same policy and for the time that is left; answers the new handoff.

    Raises AgentUnavailable, Conflict, InvalidInput or NotFound.
    """
    reason = check_text("reason", reason, least=1, most=MAX_REASON)
    (taker,) = await lock_agents(session, team_id, {agent_id})
    refuse_inactive(taker)
    conversation, handoff = await _held(session, team_id, handoff_id)
    former = handoff.to_agent_id
    if former == taker.id:
        raise Conflict(f"{taker.name} has this handoff already.")
    before = [one for one in await stack.unended(session, conversation) if one.number <= handoff.number]
    if taker.id in {one.from_agent_id for one in before}:
        raise Conflict(f"{taker.name} handed the conversation over. Return it instead.")
    left_s = await session.scalar(select(func.extract("epoch", handoff.due_at - func.clock_timestamp())))
    why = f"{actor.name} redirected it to {taker.name}: {reason}"
    await handoffs.bring_back(session, conversation, handoff, HandoffOutcome.CANCELLED, why, actor)
    giver = await session.get_one(Agent, conversation.primary_agent_id)
    if giver.id == taker.id:
        raise Conflict(f"The conversation would come back to {taker.name} anyway. Return it instead.")
    made = await handoffs.hand_over(
        session,
        conversation,
        giver=giver,
        taker=taker,
        reason=why,
        summary=handoff.summary,
        policy=handoff.return_policy,
        timeout_s=max(int(left_s or 0), 1),
        actor=actor,
    )
    said = await handoffs.announcement(session, conversation)
    await replies.open_own(session, said, taker.id, settings.reply_timeout_s, actor)
    decision = await overrides.newest_of(session, team_id=team_id, conversation_id=conversation.id)
    if decision is not None:
        await overrides.learn(session, decision, [former], taker.id, reason, actor)
    told = {"handoffId": to_global(Prefix.HANDOFF, handoff.id), "newHandoffId": to_global(Prefix.HANDOFF, made.id)}
    tell(session, EventKind.HANDOFF_REDIRECTED, conversation, actor, agent_id=taker.id, **told, reason=reason)
    return made


async def _conversation_of(session: AsyncSession, team_id: UUID, decision_id: UUID) -> Conversation | None:
    """Held before the decision is. One that an integrator named need not be a conversation of ours."""
    mine = (RoutingDecision.team_id == team_id) & (RoutingDecision.id == decision_id)
    named = await session.scalar(select(RoutingDecision.conversation_id).where(mine))
    if named is None:
        return None
    try:
        return await lock_conversation(session, team_id=team_id, conversation_id=named)
    except NotFound:
        return None


async def _give_to(session: AsyncSession, conversation: Conversation, taker: Agent, why: str, actor: Actor) -> Message:
    """The message that announces it, which the agent then goes on from."""
    if conversation.primary_agent_id == taker.id:
        said = messages.add(
            session, conversation, in_words(why), author=MessageAuthor.SYSTEM, author_name=SYSTEM.name, actor=actor
        )
        await session.flush()
        return said
    giver = await session.get_one(Agent, conversation.primary_agent_id)
    await handoffs.hand_over(
        session, conversation, giver=giver, taker=taker, reason=why, policy=ReturnPolicy.NONE, actor=actor
    )
    return await handoffs.announcement(session, conversation)


async def _held(session: AsyncSession, team_id: UUID, handoff_id: UUID) -> tuple[Conversation, ConversationHandoff]:
    mine = (ConversationHandoff.team_id == team_id) & (ConversationHandoff.id == handoff_id)
    conversation_id = await session.scalar(select(ConversationHandoff.conversation_id).where(mine))
    if conversation_id is None:
        raise NotFound("There is no such handoff in this team.")
    conversation = await lock_conversation(session, team_id=team_id, conversation_id=conversation_id)
    refuse_closed(conversation)
    handoff = await session.get_one(ConversationHandoff, handoff_id, populate_existing=True)
    if handoff.ended_at is not None:
        raise Conflict("This handoff has ended already.")
    return conversation, handoff
