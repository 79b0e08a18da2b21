"""Hands conversations over and back. A handoff is a call with a return: whatever happens to who took over, the
conversation comes back to somebody, with an outcome."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

from sqlalchemy import Select, func, select
from sqlalchemy.ext.asyncio import AsyncSession

from app.agents.models import Agent, AgentStatus
from app.attention import service as attention
from app.attention.models import AttentionKind
from app.attention.service import Subject
from app.config import Settings
from app.conversations import messages, participants, replies
from app.conversations.handoffs import stack
from app.conversations.handoffs.models import (
    MAX_REASON,
    MAX_SUMMARY,
    ConversationHandoff,
    HandoffOutcome,
    ReturnPolicy,
)
from app.conversations.locks import lock_agents, lock_conversation, refuse_closed
from app.conversations.models import (
    Conversation,
    ConversationParticipant,
    ConversationStatus,
    Message,
    MessageAuthor,
    ParticipantRole,
)
from app.conversations.narration import tell
from app.conversations.spec import in_words
from app.errands import service as errands
from app.errands.models import ErrandKind
from app.errors import Conflict, Forbidden, InvalidInput, check_text
from app.events.kinds import EventKind
from app.events.log import SYSTEM, Actor
from app.ids import Prefix, new_id, to_global
from app.memories import service as memories
from app.memories.errors import MemoryFull
from app.memories.models import MAX_TEXT, MemoryKind
from app.memories.service import Source
from app.tasks.service import refuse_inactive
from app.teams.models import Team

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
            session, conversation, await announcement(session, conversation), taker.id, settings.reply_timeout_s, actor
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
        await _forget_oldest(session, conversation, actor)
    announced = _announce(session, conversation, "\n\n".join(filter(None, (told, summary))), actor)
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
        errands.ask(session, ErrandKind.HANDOFF_DUE, team_id=made.team_id, subject_id=made.id, due_at=made.due_at)
    session.add(made)
    await _make_primary(session, conversation, taker.id, actor)
    await _remember(session, made, giver, taker, actor)
    _tell(session, EventKind.CONVERSATION_HANDED_OFF, conversation, made, actor, reason=made.reason, summary=summary)
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
    await _end(session, conversation, ended, HandoffOutcome.RETURNED, reason, actor, summary=result, named=to_agent_id)
    return ended[0]


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
    Each conversation takes an errand of its own, so that no two are ever held."""
    default_id = await session.scalar(select(Team.default_agent_id).where(Team.id == team_id))
    held = await lock_agents(session, team_id, {agent_id, default_id or agent_id})
    agents = {agent.id: agent for agent in held if agent.status is AgentStatus.ACTIVE}
    if agent_id in agents:
        return
    stopped = next(agent for agent in held if agent.id == agent_id)
    if await _pass_next_on(session, stopped, agents.get(default_id) if default_id else None):
        errands.ask(session, ErrandKind.AGENT_STOPPED, team_id=team_id, subject_id=agent_id)
        return
    away = select(ConversationHandoff.id).where(
        ConversationHandoff.team_id == team_id,
        ConversationHandoff.to_agent_id == agent_id,
        ConversationHandoff.ended_at.is_(None),
        ConversationHandoff.return_policy != ReturnPolicy.NONE,
    )
    for handoff_id in await session.scalars(away):
        errands.ask(session, ErrandKind.HANDOFF_DUE, team_id=team_id, subject_id=handoff_id)


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


async def bring_back(
    session: AsyncSession,
    conversation: Conversation,
    handoff: ConversationHandoff,
    outcome: HandoffOutcome,
    reason: str,
    actor: Actor = SYSTEM,
) -> None:
    """End a handoff that waits, and with it those that were made below it."""
    handoffs = await stack.unended(session, conversation)
    below = [one for one in handoffs if one.number > handoff.number]
    await _end(session, conversation, [handoff, *below], outcome, reason, actor)


async def end_all(session: AsyncSession, conversation: Conversation, *, reason: str, actor: Actor) -> None:
    """The conversation closes: nothing comes back any more, and every handoff says so."""
    for handoff in await stack.unended(session, conversation):
        _finish(session, conversation, handoff, HandoffOutcome.CANCELLED, reason, handoff.from_agent_id, actor)


async def announcement(session: AsyncSession, conversation: Conversation) -> Message:
    """Of the handoff or return that has just been made: the last message of a held conversation."""
    await session.flush()
    mine = (Message.conversation_id == conversation.id) & (Message.number == conversation.last_number)
    return (await session.scalars(select(Message).where(mine))).one()


def _refuse_others(conversation: Conversation, acting_as: UUID | None) -> None:
    if acting_as is not None and acting_as != conversation.primary_agent_id:
        raise Forbidden(
            "This key acts as one agent, which does not have this conversation. Leave it to who has it, or to a person."
        )


async def _end(
    session: AsyncSession,
    conversation: Conversation,
    ended: Sequence[ConversationHandoff],
    outcome: HandoffOutcome,
    reason: str,
    actor: Actor,
    summary: str = "",
    named: UUID | None = None,
) -> None:
    """The lowest of them says to whom it comes back, unless that agent is named; those above it end with it, and so do
    those below it that the agent itself had made."""
    lowest = ended[0]
    before = [one for one in await stack.unended(session, conversation) if one.number < lowest.number]
    target = await _comes_back_to(session, conversation, lowest, before, named)
    own_ones = [at for at, one in enumerate(before) if one.from_agent_id == target.id]
    if own_ones and target.id != lowest.from_agent_id:
        ended = [*before[own_ones[-1] :], *ended]
    for handoff in reversed(ended):
        own = outcome if handoff is lowest or outcome is HandoffOutcome.RETURNED else HandoffOutcome.CANCELLED
        _finish(session, conversation, handoff, own, reason, target.id, actor)
    if conversation.status is ConversationStatus.CLOSED:
        return
    stopped = {handoff.to_agent_id for handoff in ended}
    await replies.cancel_own(session, conversation, stopped, reason=f"The handoff ended: {reason}", actor=actor)
    told = f"The conversation is back with {target.name}."
    if lowest.return_policy is ReturnPolicy.HUMAN:
        told = f"A person is asked to go on; {target.name} has the conversation meanwhile."
        if outcome is not HandoffOutcome.CANCELLED:
            _ask_person(session, conversation, reason, summary, actor)
    why = "" if outcome is HandoffOutcome.RETURNED else f"Why: {reason}"
    _announce(session, conversation, "\n\n".join(filter(None, (told, summary, why))), actor)
    await _make_primary(session, conversation, target.id, actor)


async def _forget_oldest(session: AsyncSession, conversation: Conversation, actor: Actor) -> None:
    """Handoffs that need not come back do not gather for ever: the latest ones can be returned from, older ones end."""
    found = [one for one in await stack.unended(session, conversation) if one.return_policy is ReturnPolicy.NONE]
    for handoff in found[: max(len(found) + 1 - stack.MAX_DEPTH, 0)]:
        reason = f"{stack.MAX_DEPTH} later ones followed it, none of which needs to come back."
        _finish(session, conversation, handoff, HandoffOutcome.CANCELLED, reason, None, actor)


def _ask_person(session: AsyncSession, conversation: Conversation, reason: str, summary: str, actor: Actor) -> None:
    attention.open_item(
        session,
        AttentionKind.ESCALATION,
        team_id=conversation.team_id,
        title="A conversation came back to a person",
        detail="\n\n".join(filter(None, (reason, summary))),
        subject=Subject(conversation_id=conversation.id),
        actor=actor,
    )


def _finish(
    session: AsyncSession,
    conversation: Conversation,
    handoff: ConversationHandoff,
    outcome: HandoffOutcome,
    reason: str,
    target_id: UUID | None,
    actor: Actor,
) -> None:
    handoff.outcome, handoff.outcome_reason = outcome, reason[:MAX_REASON]
    handoff.returned_to_id, handoff.ended_at = target_id, func.clock_timestamp()
    _tell(session, EventKind.CONVERSATION_RETURNED, conversation, handoff, actor, outcome=outcome, reason=reason)


async def _comes_back_to(
    session: AsyncSession,
    conversation: Conversation,
    handoff: ConversationHandoff,
    before: Sequence[ConversationHandoff],
    named: UUID | None,
) -> Agent:
    """Who is named, else by the policy; where that agent is not active, the nearest before it, then the team's default
    agent. When nobody is active it is the caller all the same: a conversation always has an agent."""
    team = await session.get_one(Team, conversation.team_id)
    first = team.default_agent_id if handoff.return_policy is ReturnPolicy.ORCHESTRATOR else None
    earlier = (one.from_agent_id for one in reversed(before))
    wanted = [named, first, handoff.from_agent_id, *earlier, team.default_agent_id]
    order = list(dict.fromkeys(one for one in wanted if one is not None))
    rows = await session.scalars(select(Agent).where(Agent.id.in_(order)))
    known = {agent.id: agent for agent in rows}
    active = (known[one] for one in order if known[one].status is AgentStatus.ACTIVE)
    return next(active, known[handoff.from_agent_id])


async def _make_primary(session: AsyncSession, conversation: Conversation, agent_id: UUID, actor: Actor) -> None:
    if conversation.primary_agent_id == agent_id:
        return
    await participants.join(session, conversation, [agent_id], actor, bounded=False)  # nothing keeps it from a return
    await session.flush()
    known = {one.agent_id: one for one in await participants.rows(session, conversation)}
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
        errands.ask(session, ErrandKind.AGENT_STOPPED, team_id=team_id, subject_id=agent_id)


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


def _announce(session: AsyncSession, conversation: Conversation, text: str, actor: Actor) -> Message:
    return messages.add(
        session, conversation, in_words(text), author=MessageAuthor.SYSTEM, author_name=SYSTEM.name, actor=actor
    )


def _tell(
    session: AsyncSession,
    kind: EventKind,
    conversation: Conversation,
    handoff: ConversationHandoff,
    actor: Actor,
    **changes: object,
) -> None:
    told = {
        "handoffId": to_global(Prefix.HANDOFF, handoff.id),
        "fromAgentId": to_global(Prefix.AGENT, handoff.from_agent_id),
        "toAgentId": to_global(Prefix.AGENT, handoff.to_agent_id),
        "returnPolicy": handoff.return_policy,
    }
    tell(session, kind, conversation, actor, agent_id=handoff.to_agent_id, **told, **changes)
