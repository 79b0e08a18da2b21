"""The answering of messages: opened with the message, cancelled by who interrupts or closes."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from decimal import Decimal
from typing import Any
from uuid import UUID

from sqlalchemy import func, select
from sqlalchemy.ext.asyncio import AsyncSession

from app.conversations.locks import lock_conversation
from app.conversations.models import (
    UNFINISHED,
    Contribution,
    ContributionStatus,
    Conversation,
    Message,
    Reply,
    ReplyStatus,
)
from app.conversations.narration import tell_reply
from app.errors import Conflict, NotFound
from app.events.kinds import EventKind
from app.events.log import SYSTEM, Actor
from app.follow_ups import service as follow_ups
from app.follow_ups.models import FollowUpKind
from app.ids import new_id
from app.routing import feedback
from app.routing.models import RoutingOutcome
from app.routing.select import Strategy
from app.routing.service import Draft
from app.tasks import assignment
from app.tasks.models import Task


async def open_reply(session: AsyncSession, message: Message, draft: Draft, *, timeout_s: int, actor: Actor) -> Reply:
    """Its turn comes when every earlier reply of the conversation has ended."""
    decision = draft.decision
    return await _open(
        session,
        message,
        decision["selected_agent_ids"],
        strategy=decision["strategy"],
        decision_id=decision["id"],
        on_behalf_of=actor.name,
        model_tier=decision["selected_tier"],
        timeout_s=timeout_s,
    )


async def open_own(session: AsyncSession, message: Message, agent_id: UUID, timeout_s: int, actor: Actor) -> Reply:
    """An agent goes on by itself, after a handoff or its own message; routing is not asked."""
    await session.flush()
    return await _open(
        session, message, [agent_id], strategy=Strategy.TOP_1, on_behalf_of=actor.name, timeout_s=timeout_s
    )


async def _open(session: AsyncSession, message: Message, agent_ids: Sequence[UUID], **how: Any) -> Reply:
    reply = Reply(
        id=new_id(),
        team_id=message.team_id,
        conversation_id=message.conversation_id,
        message_id=message.id,
        number=message.number,
        status=ReplyStatus.PENDING,
        **how,
    )
    session.add(reply)
    await session.flush()
    session.add_all(
        Contribution(
            team_id=message.team_id,
            reply_id=reply.id,
            agent_id=agent_id,
            place=place,
            status=ContributionStatus.WAITING,
        )
        for place, agent_id in enumerate(agent_ids, start=1)
    )
    follow_ups.schedule(session, FollowUpKind.START_REPLY, team_id=message.team_id, subject_id=reply.id)
    return reply


async def cancel_own(
    session: AsyncSession, conversation: Conversation, agent_ids: Collection[UUID], *, reason: str, actor: Actor
) -> None:
    """Stop what these agents go on with by themselves in a locked conversation; what users asked takes its turn."""
    mine = [reply for reply in await unfinished(session, conversation) if reply.decision_id is None]
    entries = await contributions_of(session, [reply.id for reply in mine])
    chosen = {one.reply_id for one in entries if one.agent_id in agent_ids}
    await _cancel(session, conversation, [reply for reply in mine if reply.id in chosen], reason=reason, actor=actor)
    if chosen:
        await ask_for_next(session, conversation)


async def cancel_decided(
    session: AsyncSession, conversation: Conversation, decision_id: UUID, *, reason: str, actor: Actor
) -> None:
    """Stop what is still being answered by this decision in a locked conversation, because others are to answer."""
    mine = [reply for reply in await unfinished(session, conversation) if reply.decision_id == decision_id]
    await _cancel(session, conversation, mine, reason=reason, actor=actor, outcome=RoutingOutcome.REDIRECTED)
    if mine:
        await ask_for_next(session, conversation)


async def ask_for_next(session: AsyncSession, conversation: Conversation) -> None:
    """Let the next reply take its turn."""
    await session.flush()
    for reply in (await unfinished(session, conversation))[:1]:
        follow_ups.schedule(session, FollowUpKind.START_REPLY, team_id=reply.team_id, subject_id=reply.id)


async def cancel(session: AsyncSession, *, team_id: UUID, reply_id: UUID, reason: str, actor: Actor) -> Reply:
    """Stop one reply; the next takes its turn. Raises NotFound, or Conflict when it has ended."""
    mine = select(Reply.conversation_id).where(Reply.team_id == team_id, Reply.id == reply_id)
    conversation_id = await session.scalar(mine)
    if conversation_id is None:
        raise NotFound("There is no such reply in this team.")
    conversation = await lock_conversation(session, team_id=team_id, conversation_id=conversation_id)
    reply = await session.get_one(Reply, reply_id, populate_existing=True)
    if reply.status not in UNFINISHED:
        raise Conflict(f"This reply has already ended ({reply.status.name}).")
    await _cancel(session, conversation, [reply], reason=reason or "It was cancelled.", actor=actor)
    await ask_for_next(session, conversation)
    return reply


async def cancel_unfinished(session: AsyncSession, conversation: Conversation, *, reason: str, actor: Actor) -> None:
    """Stop what is being answered in a locked conversation, and let nothing take its turn that waits."""
    await _cancel(session, conversation, await unfinished(session, conversation), reason=reason, actor=actor)


async def _cancel(
    session: AsyncSession,
    conversation: Conversation,
    found: Sequence[Reply],
    *,
    reason: str,
    actor: Actor,
    outcome: RoutingOutcome = RoutingOutcome.FAILED,
) -> None:
    entries = await contributions_of(session, [reply.id for reply in found])
    running = [one for one in entries if one.status is ContributionStatus.RUNNING]
    tasks = [one.task_id for one in running if one.task_id is not None]
    await assignment.call_off(session, team_id=conversation.team_id, task_ids=tasks, reason=reason, actor=actor)
    for one in entries:
        if one.status in (ContributionStatus.WAITING, ContributionStatus.RUNNING):
            one.status, one.error = ContributionStatus.CANCELLED, reason
    for reply in found:
        reply.status, reply.finished_at, reply.error = ReplyStatus.CANCELLED, func.clock_timestamp(), reason
        reply.cost = await cost_of(session, [one for one in entries if one.reply_id == reply.id])
        tell_reply(session, EventKind.REPLY_CANCELLED, conversation, reply, actor, error=reason, cost=float(reply.cost))
        if reply.decision_id is not None:
            await feedback.record_outcome(
                session,
                team_id=reply.team_id,
                decision_id=reply.decision_id,
                outcome=outcome,
                actual_cost=reply.cost,
                response_ms=None,
                actor=SYSTEM,
            )


async def stop_agents(
    session: AsyncSession, conversation: Conversation, agent_ids: Collection[UUID], *, reason: str, actor: Actor
) -> None:
    """Stop what these agents work on in a locked conversation; each reply goes on with the others who were chosen."""
    entries = await contributions_of(session, [reply.id for reply in await unfinished(session, conversation)])
    mine = [one for one in entries if one.agent_id in agent_ids and one.status is ContributionStatus.RUNNING]
    tasks = [one.task_id for one in mine if one.task_id is not None]
    await assignment.call_off(session, team_id=conversation.team_id, task_ids=tasks, reason=reason, actor=actor)


async def cost_of(session: AsyncSession, chosen: Sequence[Contribution]) -> Decimal:
    """Of the tasks and all that was delegated from them."""
    roots = [one.task_id for one in chosen if one.task_id is not None]
    spent = select(func.coalesce(func.sum(Task.cost), 0)).where(Task.root_id.in_(roots))
    return await session.scalar(spent) or Decimal(0)


async def unfinished(session: AsyncSession, conversation: Conversation) -> list[Reply]:
    """Those that run or wait for their turn, first one first."""
    mine = select(Reply).where(Reply.conversation_id == conversation.id, Reply.status.in_(UNFINISHED))
    return list(await session.scalars(mine.order_by(Reply.number).execution_options(populate_existing=True)))


async def contributions_of(session: AsyncSession, reply_ids: Sequence[UUID]) -> list[Contribution]:
    mine = select(Contribution).where(Contribution.reply_id.in_(reply_ids)).order_by(Contribution.place)
    return list(await session.scalars(mine.execution_options(populate_existing=True)))
