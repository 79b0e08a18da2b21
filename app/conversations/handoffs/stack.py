"""Who waits for a conversation to come back, and whether one more handoff may follow. Reads only."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from sqlalchemy import func, select
from sqlalchemy.ext.asyncio import AsyncSession

from app.agents.models import Agent
from app.conversations.handoffs.errors import HandoffCycle, HandoffOscillation
from app.conversations.handoffs.models import ConversationHandoff, ReturnPolicy
from app.conversations.models import Conversation, Message, MessageAuthor
from app.errors import Conflict
from app.tasks.errors import CycleDetected
from app.tasks.waits import circle_of

MAX_DEPTH = 10  # handoffs that wait for each other; and of those that need not come back, how many are kept in mind


async def unended(session: AsyncSession, conversation: Conversation) -> list[ConversationHandoff]:
    """Handoffs that did not come back, the newest last; those with the policy NONE among them need not."""
    mine = select(ConversationHandoff).where(
        ConversationHandoff.conversation_id == conversation.id, ConversationHandoff.ended_at.is_(None)
    )
    ordered = mine.order_by(ConversationHandoff.number).execution_options(populate_existing=True)
    return list(await session.scalars(ordered))


def waiting(handoffs: Sequence[ConversationHandoff]) -> list[ConversationHandoff]:
    """The stack: those that are to come back."""
    return [one for one in handoffs if one.return_policy is not ReturnPolicy.NONE]


def last_to(handoffs: Sequence[ConversationHandoff], agent_id: UUID) -> ConversationHandoff | None:
    """The handoff by which this agent has the conversation, if it did not begin with it."""
    return next((one for one in reversed(handoffs) if one.to_agent_id == agent_id), None)


async def spoke_since(session: AsyncSession, handoff: ConversationHandoff) -> bool:
    """Whether who took over has said anything in the conversation since."""
    said = select(Message.id).where(
        Message.conversation_id == handoff.conversation_id,
        Message.agent_id == handoff.to_agent_id,
        Message.number > handoff.number,
    )
    return await session.scalar(said.limit(1)) is not None


async def last_user_number(session: AsyncSession, conversation: Conversation) -> int:
    said = select(func.max(Message.number)).where(
        Message.conversation_id == conversation.id, Message.author == MessageAuthor.USER
    )
    return await session.scalar(said) or 0


async def refuse_too_many(session: AsyncSession, conversation: Conversation, *, limit: int) -> None:
    """Raises Conflict when an agent hands over once more than may be since the user last spoke: each handoff starts a
    reply that the team pays for."""
    since = await last_user_number(session, conversation)
    recent = (ConversationHandoff.conversation_id == conversation.id) & (ConversationHandoff.number > since)
    if (await session.scalar(select(func.count()).where(recent)) or 0) >= limit:
        raise Conflict(
            f"The conversation was handed over {limit} times since the user last spoke, the most at a time "
            "(PARLEY_HANDOFF_STEPS). Wait until the user says something."
        )


async def refuse_loop(
    session: AsyncSession, conversation: Conversation, *, giver: Agent, taker: Agent, reason: str, limit: int
) -> None:
    """Raises HandoffCycle, HandoffOscillation or, when too many wait for each other, Conflict."""
    open_ones = waiting(await unended(session, conversation))
    callers = [one.from_agent_id for one in open_ones]
    if taker.id in callers:
        slugs = await _slugs(session, [*callers[callers.index(taker.id) :], giver.id])
        raise HandoffCycle([*slugs, taker.slug])
    if len(open_ones) >= MAX_DEPTH:
        raise Conflict(f"{MAX_DEPTH} handoffs wait for each other already. Return the conversation first.")
    before = await repeats(session, conversation, giver.id)
    if before.get((taker.id, reason.lower()), 0) >= limit:
        raise HandoffOscillation([giver.slug, taker.slug], limit)


async def refuse_wait_cycle(session: AsyncSession, *, giver: Agent, taker: Agent) -> None:
    """Raises CycleDetected where who would take over waits, by consultations, for who would wait for its return."""
    circle = await circle_of(
        session, team_id=giver.team_id, waiter_id=giver.id, awaited_id=taker.id, consultations_only=True
    )
    if circle:
        instead = "Answer first, hand over to another agent, or for good (returnPolicy NONE)."
        raise CycleDetected(circle, "Who would take over waits for an answer of who hands over", instead)


async def repeats(session: AsyncSession, conversation: Conversation, giver: UUID) -> dict[tuple[UUID, str], int]:
    """How often this agent handed over since the user last spoke, by who took over and the reason in lower case. Rows,
    so that a retry or a restart does not forget."""
    since = await last_user_number(session, conversation)
    reason = func.lower(ConversationHandoff.reason)
    same = select(ConversationHandoff.to_agent_id, reason, func.count()).where(
        ConversationHandoff.conversation_id == conversation.id,
        ConversationHandoff.from_agent_id == giver,
        ConversationHandoff.number > since,
    )
    rows = await session.execute(same.group_by(ConversationHandoff.to_agent_id, reason))
    return {(taker, why): count for taker, why, count in rows}


async def _slugs(session: AsyncSession, ids: Sequence[UUID]) -> list[str]:
    rows = await session.execute(select(Agent.id, Agent.slug).where(Agent.id.in_(ids)))
    known = {agent_id: slug for agent_id, slug in rows}
    return [known[one] for one in ids]
