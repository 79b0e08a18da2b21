"""The tools with which managed agents write to each other and read what was written to them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated
from uuid import UUID

from pydantic import Field
from sqlalchemy.ext.asyncio import AsyncSession

from app.agents.spec import Strict
from app.errors import InvalidInput
from app.ids import Prefix, from_global, to_global
from app.inference.request import Tool
from app.managed.task_tools import find_colleague
from app.managed.tool import MAX_RESULT, AgentTool, Desk, Done
from app.messages import inbox, service
from app.messages.channels import Channel, direct, parse_channel
from app.messages.inbox import Mail
from app.messages.models import MAX_BODY, MAX_SUBJECT, AgentMessageType, ChannelKind
from app.messages.service import Outgoing
from app.messages.spec import MessageSpec
from app.tasks.errors import AuthorityExceeded
from app.tasks.models import Task

MOST_MESSAGES = 20
ROOM = MAX_RESULT - 100  # leaves space to say how many are left
_OWN_TASK = "task"
_INBOX = "get_agent_inbox"


class SendAgentMessage(Strict):
    message: Annotated[str, Field(description="What to say.", min_length=1, max_length=MAX_BODY)]
    to_agent: Annotated[str | None, Field(description="One colleague's slug, such as luke. Or name a channel.")] = None
    channel: Annotated[
        str | None,
        Field(
            description="Instead of one colleague: team for all, task for those who gave you this task and those above "
            "them, task:{id} of a task that you delegated, or collab:{id} of a session that you take part in."
        ),
    ] = None
    message_type: Annotated[AgentMessageType, Field(description="What it is.")] = AgentMessageType.NOTIFICATION
    subject: Annotated[str, Field(description="A few words.", max_length=MAX_SUBJECT)] = ""
    reply_to: Annotated[str | None, Field(description="The id of the message that this answers.")] = None


class GetAgentInbox(Strict):
    unread_only: Annotated[bool, Field(description="Leave out what you have read before.")] = True
    limit: Annotated[int, Field(description="How many messages at most, the newest first.", ge=1, le=MOST_MESSAGES)] = (
        10
    )


async def _send(session: AsyncSession, desk: Desk, asked: SendAgentMessage) -> Done:
    task = desk.run.task
    channel = await _channel(session, desk, asked)
    reply_to = from_global(Prefix.AGENT_MESSAGE, asked.reply_to, path="reply_to") if asked.reply_to else None
    spec = MessageSpec(
        body=asked.message,
        type=asked.message_type,
        subject=asked.subject,
        task_id=None if channel.kind is ChannelKind.TASK else task.id,
        reply_to_id=reply_to,
    )
    message = await service.send(
        session,
        team_id=task.team_id,
        wanted=Outgoing(task.assignee_id, channel, spec),
        limit=desk.settings.inbox_limit,
        sender_limit=desk.settings.inbox_limit_per_sender,
        actor=desk.run.actor,
    )
    who = asked.to_agent or f"{message.recipient_count} in {channel.name}"
    return Done(f"Sent to {who} as {to_global(Prefix.AGENT_MESSAGE, message.id)}. They read it when they next work.")


async def _channel(session: AsyncSession, desk: Desk, asked: SendAgentMessage) -> Channel:
    task = desk.run.task
    if (asked.to_agent is None) == (asked.channel is None):
        raise InvalidInput.of("to_agent", "name either to_agent or channel")
    if asked.to_agent is not None:
        colleague = await find_colleague(session, task, asked.to_agent)
        _refuse_beyond(task, colleague.id, f"the agent '{colleague.slug}'")
        return direct(colleague.id)
    if asked.channel == _OWN_TASK:
        return Channel(ChannelKind.TASK, task.id)
    channel = parse_channel(asked.channel or "")
    if channel.kind is ChannelKind.TEAM:
        _refuse_beyond(task, None, "the whole team")
    return channel


def _refuse_beyond(task: Task, agent_id: UUID | None, grant: str) -> None:
    """A task that may ask only some agents writes only to them, and to who gave it."""
    if task.allowed_agents is not None and agent_id not in (task.creator_id, *task.allowed_agents):
        raise AuthorityExceeded([grant])


async def _read(session: AsyncSession, desk: Desk, asked: GetAgentInbox) -> Done:
    """What is shown counts as read once the task completes: a failed attempt has read nothing."""
    mine = {"team_id": desk.run.task.team_id, "agent_id": desk.run.task.assignee_id}
    known = desk.mail if asked.unread_only else ()
    found = await inbox.read(session, **mine, unread_only=asked.unread_only, most=asked.limit, without=known)
    shown = _fitting(found)
    unread = {mail.message.id for mail in found[: len(shown)] if mail.entry.read_at is None}
    left = await inbox.count_unread(session, **mine, without=desk.mail | unread) if unread else 0
    more = [f"{left} more are unread."] if left else []
    return Done("\n\n".join([*shown, *more]) or "There are no messages.", then=lambda: _keep_in_mind(desk, unread))


def _keep_in_mind(desk: Desk, messages: set[UUID]) -> None:
    if messages and not desk.mail:
        desk.run.at_completion.append(lambda session: _mark_read(session, desk))
    desk.mail.update(messages)


async def _mark_read(session: AsyncSession, desk: Desk) -> None:
    run = desk.run
    await inbox.mark_read(
        session, team_id=run.task.team_id, agent_id=run.task.assignee_id, message_ids=desk.mail, actor=run.actor
    )


def _fitting(found: list[Mail]) -> list[str]:
    """As many as an answer has room for; one that alone is too long is cut."""
    shown = [_shown(mail) for mail in found]
    for count in range(len(shown), 0, -1):
        if sum(len(text) + 2 for text in shown[:count]) <= ROOM:
            return shown[:count]
    return [text[: ROOM - 1] + "…" for text in shown[:1]]


def _shown(mail: Mail) -> str:
    message = mail.message
    about = f", about {to_global(Prefix.TASK, message.task_id)}" if message.task_id else ""
    head = f"{to_global(Prefix.AGENT_MESSAGE, message.id)} {message.type.value} from {mail.sender.slug}{about}"
    subject = f"\nSubject: {message.subject}" if message.subject else ""
    return f"{head}, {message.sent_at:%Y-%m-%d %H:%M} UTC{subject}\n{message.body}"


def mail_notice(unread: int, tools: Sequence[Tool]) -> str:
    """What a prompt adds for an agent that has mail and may read it."""
    if not unread or _INBOX not in (tool.name for tool in tools):
        return ""
    return f"\n\nUnread messages from colleagues: {unread}. {_INBOX} shows them, if they may matter to this task."


MESSAGE_TOOLS = (
    AgentTool(
        name="send_agent_message",
        description="Write to a colleague, to your team, or to those who share a task with you: for notices, questions "
        "and answers that need no task of their own. It is put into their inbox.",
        arguments=SendAgentMessage,
        act=_send,
    ),
    AgentTool(
        name=_INBOX,
        description="The messages that colleagues wrote to you, the newest first. What it shows counts as read "
        "when this task is completed.",
        arguments=GetAgentInbox,
        act=_read,
    ),
)
