"""Hands conversations over and back. A handoff is a call with a return: whatever happens to who took over, the
conversation comes back to somebody, with an outcome."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

from sqlalchemy import func, select
from sqlalchemy.ext.asyncio import AsyncSession

from app.agents.models import Agent
from app.config import Settings
from app.conversations import participants, replies
from app.conversations.handoffs import stack
from app.conversations.handoffs.ending import bring_back as bring_back
from app.conversations.handoffs.ending import end, forget_oldest
from app.conversations.handoffs.ending import end_all as end_all
from app.conversations.handoffs.models import MAX_REASON, MAX_SUMMARY, ConversationHandoff, HandoffOutcome, ReturnPolicy
from app.conversations.handoffs.narration import announce, tell
from app.conversations.handoffs.narration import announcement as announcement
from app.conversations.locks import lock_agents, lock_conversation, refuse_closed
from app.conversations.models import Conversation
from app.errors import Conflict, Forbidden, InvalidInput, check_text
from app.events.kinds import EventKind
from app.events.log import Actor
from app.follow_ups import service as follow_ups
from app.follow_ups.models import FollowUpKind
from app.ids import new_id
from app.memories import service as memories
from app.memories.errors import MemoryFull
from app.memories.models import MAX_TEXT, MemoryKind
from app.memories.service import Source
from app.tasks.availability import refuse_inactive

TIMEOUT_S = range(1, 86_401)


@dataclass(frozen=True, slots=True)
class Request:
    """`replies`: whether who takes over says something at once."""

    conversation_id: UUID
    to_agent_id: UUID
    reason: str
    summary: str = ""
    policy: ReturnPolicy = ReturnPolicy.CALLER
    timeout_s: int = 3_600
    replies: bool = True


async def request(
    session: AsyncSession,
    *,
    team_id: UUID,
    wanted: Request,
    settings: Settings,
    actor: Actor,
    acting_as: UUID | None = None,
) -> ConversationHandoff:
    """`acting_as` is the agent that hands over, which must have the conversation. Raises Forbidden, AgentUnavailable,
    HandoffCycle, HandoffOscillation, Conflict, NotFound or InvalidInput; then nothing changed."""
    reason = check_text("reason", wanted.reason, least=1, most=MAX_REASON)
    summary = check_text("summary", wanted.summary, most=MAX_SUMMARY)
    if wanted.timeout_s not in TIMEOUT_S:
        raise InvalidInput.of("timeoutSeconds", f"must be {TIMEOUT_S[0]} to {TIMEOUT_S[-1]:,}")
    (taker,) = await lock_agents(session, team_id, {wanted.to_agent_id})
    conversation = await lock_conversation(session, team_id=team_id, conversation_id=wanted.conversation_id)
    refuse_closed(conversation)
    _refuse_others(conversation, acting_as)
    refuse_inactive(taker)
    giver = await session.get_one(Agent, conversation.primary_agent_id)
    if giver.id == taker.id:
        raise Conflict(f"{taker.name} has this conversation already.")
    if acting_as is not None:
        await stack.refuse_too_many(session, conversation, limit=settings.handoff_steps)
    await stack.refuse_loop(
        session, conversation, giver=giver, taker=taker, reason=reason, limit=settings.handoff_repeats
    )
    if wanted.policy is not ReturnPolicy.NONE:
        await stack.refuse_wait_cycle(session, giver=giver, taker=taker)
    made = await hand_over(
        session,
        conversation,
        giver=giver,
        taker=taker,
        reason=reason,
        summary=summary,
        policy=wanted.policy,
        timeout_s=wanted.timeout_s,
        actor=actor,
    )
    if wanted.replies:
        await replies.open_own(
            session, await announcement(session, conversation), taker.id, settings.reply_timeout_s, actor
        )
    return made


async def hand_over(
    session: AsyncSession,
    conversation: Conversation,
    *,
    giver: Agent,
    taker: Agent,
    reason: str,
    policy: ReturnPolicy,
    actor: Actor,
    by: Agent | None = None,
    summary: str = "",
    timeout_s: int = 0,
    rule_id: UUID | None = None,
    message_id: UUID | None = None,
) -> ConversationHandoff:
    """Pass the primary role of a held conversation, announce it, and set the clock for its return. `by` is a guest
    whose reply made it necessary."""
    told = f"{giver.name} handed the conversation over to {taker.name}."
    if by is not None and by.id != giver.id:
        told = f"{by.name} handed the conversation over from {giver.name} to {taker.name}."
    if policy is ReturnPolicy.NONE:
        await forget_oldest(session, conversation, actor)
    announced = announce(session, conversation, "\n\n".join(filter(None, (told, summary))), actor)
    made = ConversationHandoff(
        id=new_id(),
        team_id=conversation.team_id,
        conversation_id=conversation.id,
        number=announced.number,
        from_agent_id=giver.id,
        to_agent_id=taker.id,
        reason=reason[:MAX_REASON],
        summary=summary,
        return_policy=policy,
        rule_id=rule_id,
        message_id=message_id,
        requested_by=actor.name,
    )
    if policy is not ReturnPolicy.NONE:
        at = await session.scalar(select(func.clock_timestamp()))
        assert at is not None
        made.due_at = at + timedelta(seconds=timeout_s)
        follow_ups.schedule(
            session, FollowUpKind.HANDOFF_DUE, team_id=made.team_id, subject_id=made.id, due_at=made.due_at
        )
    session.add(made)
    await participants.make_primary(session, conversation, taker.id, actor)
    await _remember(session, made, giver, taker, actor)
    tell(session, EventKind.CONVERSATION_HANDED_OFF, conversation, made, actor, reason=made.reason, summary=summary)
    return made


async def give_back(
    session: AsyncSession,
    *,
    team_id: UUID,
    conversation_id: UUID,
    actor: Actor,
    result: str = "",
    to_agent_id: UUID | None = None,
    acting_as: UUID | None = None,
) -> ConversationHandoff:
    """Return a conversation to who had it before, or to an agent further back; raises Conflict when nobody had."""
    result = check_text("result", result, most=MAX_SUMMARY)
    conversation = await lock_conversation(session, team_id=team_id, conversation_id=conversation_id)
    refuse_closed(conversation)
    _refuse_others(conversation, acting_as)
    return await returned(session, conversation, to_agent_id=to_agent_id, result=result, actor=actor)


async def returned(
    session: AsyncSession,
    conversation: Conversation,
    *,
    to_agent_id: UUID | None,
    result: str,
    actor: Actor,
    reason: str = "",
) -> ConversationHandoff:
    """As `give_back`, of a held conversation."""
    handoffs = await stack.unended(session, conversation)
    last = stack.last_to(handoffs, conversation.primary_agent_id)
    ended = handoffs[handoffs.index(last) :] if last is not None else []
    if to_agent_id is not None:
        start = next((at for at in range(len(handoffs) - 1, -1, -1) if handoffs[at].from_agent_id == to_agent_id), None)
        ended = handoffs[start:] if start is not None else []
    if not ended:
        raise Conflict("There is no handoff to return from: nobody had this conversation before.")
    reason = reason or result[:MAX_REASON] or f"{actor.name} returned it."
    await end(session, conversation, ended, HandoffOutcome.RETURNED, reason, actor, summary=result, named=to_agent_id)
    return ended[0]


def _refuse_others(conversation: Conversation, acting_as: UUID | None) -> None:
    if acting_as is not None and acting_as != conversation.primary_agent_id:
        raise Forbidden(
            "This key acts as one agent, which does not have this conversation. Leave it to who has it, or to a person."
        )


async def _remember(session: AsyncSession, made: ConversationHandoff, giver: Agent, taker: Agent, actor: Actor) -> None:
    """As an episode of the team's, so that both agents know of it later. A full memory stops no handoff."""
    text = f"{giver.name} handed a conversation over to {taker.name}: {made.reason}"
    source = Source(conversation_id=made.conversation_id)
    try:
        async with session.begin_nested():
            await memories.remember(
                session,
                team_id=made.team_id,
                kind=MemoryKind.EPISODIC,
                text=f"{text}\n\n{made.summary}"[:MAX_TEXT] if made.summary else text,
                source=source,
                actor=actor,
            )
    except MemoryFull:
        return
