"""Ends handoffs: to whom a conversation comes back, and with which outcome. Its row is held meanwhile."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from sqlalchemy import func, select
from sqlalchemy.ext.asyncio import AsyncSession

from app.agents.models import Agent, AgentStatus
from app.attention import service as attention
from app.attention.models import AttentionKind
from app.attention.service import Subject
from app.conversations import participants, replies
from app.conversations.handoffs import stack
from app.conversations.handoffs.models import MAX_REASON, ConversationHandoff, HandoffOutcome, ReturnPolicy
from app.conversations.handoffs.narration import announce, tell
from app.conversations.models import Conversation, ConversationStatus
from app.events.kinds import EventKind
from app.events.log import SYSTEM, Actor
from app.teams.models import Team


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
    await end(session, conversation, [handoff, *below], outcome, reason, actor)


async def end_all(session: AsyncSession, conversation: Conversation, *, reason: str, actor: Actor) -> None:
    """The conversation closes: nothing comes back any more, and every handoff says so."""
    for handoff in await stack.unended(session, conversation):
        _finish(session, conversation, handoff, HandoffOutcome.CANCELLED, reason, handoff.from_agent_id, actor)


async def forget_oldest(session: AsyncSession, conversation: Conversation, actor: Actor) -> None:
    """Handoffs that need not come back do not gather for ever: the latest ones can be returned from, older ones end."""
    found = [one for one in await stack.unended(session, conversation) if one.return_policy is ReturnPolicy.NONE]
    for handoff in found[: max(len(found) + 1 - stack.MAX_DEPTH, 0)]:
        reason = f"{stack.MAX_DEPTH} later ones followed it, none of which needs to come back."
        _finish(session, conversation, handoff, HandoffOutcome.CANCELLED, reason, None, actor)


async def end(
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
    announce(session, conversation, "\n\n".join(filter(None, (told, summary, why))), actor)
    await participants.make_primary(session, conversation, target.id, actor)


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
    tell(session, EventKind.CONVERSATION_RETURNED, conversation, handoff, actor, outcome=outcome, reason=reason)


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
