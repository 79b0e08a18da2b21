"""Sends messages between agents: into the inboxes of exactly those who are in the channel at that moment, or of nobody.

Locks are taken in one order: the team's row, the recipients' rows by id.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from uuid import UUID

from sqlalchemy import func, insert, or_, select
from sqlalchemy.ext.asyncio import AsyncSession

from app.agents.models import Agent, AgentStatus
from app.clock import now
from app.errors import InvalidInput, NotFound, QuotaExceeded
from app.events.kinds import EventKind
from app.events.log import Actor, append
from app.ids import Prefix, new_id, to_global
from app.messages.channels import Channel, members_of
from app.messages.errors import ChannelClosed, InboxFull, NoDirectMessages, NotInChannel
from app.messages.models import MAX_BODY, MAX_SUBJECT, AgentMessage, ChannelKind, InboxEntry
from app.messages.spec import MessageSpec, check_expiry
from app.messages.unread import counts_as_unread
from app.redaction import redact
from app.tasks.errors import AgentUnavailable, UnavailableReason
from app.tasks.models import Task
from app.teams.models import MessagePolicy, Team

_PRIVATE = frozenset({ChannelKind.TASK, ChannelKind.COLLABORATION})


@dataclass(frozen=True, slots=True)
class Outgoing:
    """What is said, by whom, where."""

    sender_id: UUID
    channel: Channel
    spec: MessageSpec


async def send(
    session: AsyncSession, *, team_id: UUID, wanted: Outgoing, limit: int, sender_limit: int, actor: Actor
) -> AgentMessage:
    """Raises NoDirectMessages, NotInChannel, ChannelClosed, AgentUnavailable, InboxFull, QuotaExceeded, NotFound or
    InvalidInput; then nobody got it. `limit`: how many unread messages an inbox holds; `sender_limit`: of a sender."""
    check_expiry(wanted.spec.expires_at, now())
    sender = await _permitted(session, team_id, wanted)
    recipients = await _recipients(session, team_id, sender, wanted.channel)
    await _check_links(session, team_id, wanted)
    wanted = await _without_secrets(session, team_id, wanted)
    await _refuse_full(session, recipients, limit)
    await _refuse_over_quota(session, recipients, sender, sender_limit)
    message = _row(team_id, wanted, len(recipients))
    session.add(message)
    await session.flush()
    await _deliver(session, message, sender, recipients, wanted.channel, actor)
    return message


async def _permitted(session: AsyncSession, team_id: UUID, wanted: Outgoing) -> Agent:
    """The sender. The team's row is shared: who changes its policy waits for the messages that are sent under the old
    one."""
    both = select(Team.message_policy, Agent).join(Agent, Agent.team_id == Team.id)
    mine = both.where(Team.id == team_id, Agent.id == wanted.sender_id)
    row = (await session.execute(mine.with_for_update(read=True, of=Team))).one_or_none()
    if row is None:
        raise NotFound("There is no such agent in this team (fromAgentId).")
    policy, sender = row
    if policy is MessagePolicy.HUB_AND_SPOKE and wanted.channel.kind not in _PRIVATE:
        raise NoDirectMessages
    if sender.status is AgentStatus.ARCHIVED:
        raise AgentUnavailable(f"{sender.name} is archived and sends no messages.", UnavailableReason.ARCHIVED)
    found: Agent = sender
    return found


async def _recipients(session: AsyncSession, team_id: UUID, sender: Agent, channel: Channel) -> list[Agent]:
    """The members but the sender, their rows held: of many senders at once each counts what the others sent."""
    if channel.kind is ChannelKind.DIRECT:
        return [await _recipient(session, team_id, sender, channel.subject_id)]
    members = await members_of(session, team_id, channel)
    if channel.kind in _PRIVATE and sender.id not in members:
        raise NotInChannel(sender.slug, channel.name)
    found = await _locked(session, team_id, members - {sender.id})
    wanted = {AgentStatus.ACTIVE} if channel.kind is ChannelKind.TEAM else {AgentStatus.ACTIVE, AgentStatus.PAUSED}
    recipients = [agent for agent in found if agent.status in wanted]
    if not recipients:
        raise ChannelClosed(f"There is nobody but {sender.slug} in the channel {channel.name}.")
    return recipients


async def _recipient(session: AsyncSession, team_id: UUID, sender: Agent, agent_id: UUID | None) -> Agent:
    if agent_id == sender.id:
        raise InvalidInput.of("toAgentId", "must be another agent than the sender")
    found = await _locked(session, team_id, {agent_id} if agent_id else set())
    if not found:
        raise NotFound("There is no such agent in this team (toAgentId).")
    if found[0].status is AgentStatus.ARCHIVED:
        raise AgentUnavailable(f"{found[0].name} is archived and gets no messages.", UnavailableReason.ARCHIVED)
    return found[0]


async def _locked(session: AsyncSession, team_id: UUID, ids: set[UUID]) -> list[Agent]:
    statement = select(Agent).where(Agent.team_id == team_id, Agent.id.in_(ids)).order_by(Agent.id)
    held = statement.with_for_update(key_share=True).execution_options(populate_existing=True)
    return list(await session.scalars(held))


async def _check_links(session: AsyncSession, team_id: UUID, wanted: Outgoing) -> None:
    """What it refers to must be there; a message to reply to must be one that the sender has seen."""
    spec, channel = wanted.spec, wanted.channel
    if channel.kind is ChannelKind.TASK and spec.task_id not in (None, channel.subject_id):
        raise InvalidInput.of("taskId", "must be left out in the channel of another task")
    if spec.task_id is not None:
        mine = select(Task.id).where(Task.team_id == team_id, Task.id == spec.task_id)
        if await session.scalar(mine) is None:
            raise NotFound("There is no such task in this team (taskId).")
    if spec.reply_to_id is not None:
        got = select(InboxEntry.message_id).where(InboxEntry.agent_id == wanted.sender_id)
        seen = or_(AgentMessage.sender_id == wanted.sender_id, AgentMessage.id.in_(got))
        one = select(AgentMessage.id).where(AgentMessage.team_id == team_id, AgentMessage.id == spec.reply_to_id, seen)
        if await session.scalar(one) is None:
            raise NotFound("The sender has no such message to reply to (replyToId).")


async def _without_secrets(session: AsyncSession, team_id: UUID, wanted: Outgoing) -> Outgoing:
    """What is said about a task, as it may be kept with that task."""
    spec, channel = wanted.spec, wanted.channel
    about = channel.subject_id if channel.kind is ChannelKind.TASK else spec.task_id
    mine = select(Task.redacts).where(Task.team_id == team_id, Task.id == about)
    what = await session.scalar(mine) if about else None
    if what is None:
        return wanted
    clean = {"body": redact(spec.body, what)[:MAX_BODY], "subject": redact(spec.subject, what)[:MAX_SUBJECT]}
    return replace(wanted, spec=spec.model_copy(update=clean))


async def _refuse_full(session: AsyncSession, recipients: Sequence[Agent], limit: int) -> None:
    unread = (InboxEntry.agent_id.in_([agent.id for agent in recipients])) & counts_as_unread()
    statement = select(InboxEntry.agent_id).where(unread).group_by(InboxEntry.agent_id)
    full = set(await session.scalars(statement.having(func.count() >= limit)))
    if full:
        raise InboxFull([agent.slug for agent in recipients if agent.id in full], limit)


async def _refuse_over_quota(session: AsyncSession, recipients: Sequence[Agent], sender: Agent, limit: int) -> None:
    """The recipients' rows are locked, so of many messages at once each counts those before."""
    inboxes = InboxEntry.agent_id.in_([agent.id for agent in recipients])
    unread = inboxes & (InboxEntry.sender_id == sender.id) & counts_as_unread()
    counts = select(InboxEntry.agent_id).where(unread).group_by(InboxEntry.agent_id)
    full = set(await session.scalars(counts.having(func.count() >= limit)))
    if full:
        slugs = ", ".join([agent.slug for agent in recipients if agent.id in full][:10])
        raise QuotaExceeded(
            f"{sender.slug} has {limit:,} unread messages in the inbox of {slugs}",
            limit=limit,
            setting="PARLEY_INBOX_LIMIT_PER_SENDER",
            instead="Nobody got this message. Send it again when some were acknowledged or have expired.",
        )


def _row(team_id: UUID, wanted: Outgoing, recipients: int) -> AgentMessage:
    spec, channel = wanted.spec, wanted.channel
    return AgentMessage(
        id=new_id(),
        team_id=team_id,
        sender_id=wanted.sender_id,
        channel_kind=channel.kind,
        recipient_id=channel.subject_id if channel.kind is ChannelKind.DIRECT else None,
        task_id=channel.subject_id if channel.kind is ChannelKind.TASK else spec.task_id,
        collaboration_id=channel.subject_id if channel.kind is ChannelKind.COLLABORATION else None,
        recipient_count=recipients,
        **spec.model_dump(exclude={"task_id"}),
    )


async def _deliver(
    session: AsyncSession,
    message: AgentMessage,
    sender: Agent,
    recipients: Sequence[Agent],
    channel: Channel,
    actor: Actor,
) -> None:
    told = {
        "message_id": to_global(Prefix.AGENT_MESSAGE, message.id),
        "sender_id": to_global(Prefix.AGENT, sender.id),
        "channel": channel.name,
        "type": message.type,
        "subject": message.subject,
    }
    rows = []
    for agent in recipients:
        event = append(
            session,
            EventKind.AGENT_MESSAGE_RECEIVED,
            team_id=message.team_id,
            actor=actor,
            agent_id=agent.id,
            changes=told,
        )
        event.id = new_id()
        rows.append(
            {
                "id": event.id,
                "team_id": message.team_id,
                "agent_id": agent.id,
                "message_id": message.id,
                "sender_id": sender.id,
                "type": message.type,
                "expires_at": message.expires_at,
            }
        )
    await session.execute(insert(InboxEntry), rows)
