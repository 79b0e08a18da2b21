"""Messages between agents and their inboxes, as the graph shows them.

An agent's key sees what its agent sent or received; other keys see the whole team's.
"""

from __future__ import annotations

from typing import Any

import strawberry
from sqlalchemy import ColumnElement, and_, case, false, func, or_, select

from app.ids import Prefix
from app.messages import models
from graphql_schema.events.types import event_cursor
from graphql_schema.messages.reach import readable_message
from graphql_schema.node import Node
from graphql_schema.planner.connections import many, publish_connection
from graphql_schema.planner.mapping import Caller, column, expression, mapped, one
from graphql_schema.planner.sql import global_id, word
from graphql_schema.scalars import Cursor, DateTime

_AGENTS = "graphql_schema.agents.types"
_TASKS = "graphql_schema.tasks.types"
_HERE = "graphql_schema.messages.types"


def _readable_entry(row: Any) -> ColumnElement[bool]:
    """Only what no running transaction can still precede: whoever acknowledges through an entry has seen all before."""
    own = or_(Caller.agent_id.is_(None), row.agent_id == Caller.agent_id, row.sender_id == Caller.agent_id)
    horizon = select(func.event_horizon()).scalar_subquery()
    return and_(row.team_id == Caller.team_id, own, row.position < horizon)


def _expired(row: Any) -> ColumnElement[bool]:
    return func.coalesce(row.expires_at <= func.now(), false())


def _channel(row: Any) -> ColumnElement[str]:
    of_task = word("task:").op("||")(global_id(Prefix.TASK, row.task_id))
    of_session = word("collab:").op("||")(global_id(Prefix.COLLABORATION, row.collaboration_id))
    return case(
        (row.channel_kind == word(models.ChannelKind.TASK), of_task),
        (row.channel_kind == word(models.ChannelKind.COLLABORATION), of_session),
        else_=row.channel_kind,
    )


@mapped(models.AgentMessage.__table__, prefix=Prefix.AGENT_MESSAGE, scope=readable_message)
@strawberry.type(description="What one agent said to others. It never changes.")
class AgentMessage(Node):
    type: models.AgentMessageType = column("What it is.", filter=True, group=True)
    channel: str = expression("Whom it is for: `direct`, `team`, `task:{id}` or `collab:{id}`.", _channel)
    channel_kind: models.ChannelKind = column("What sort of channel that is.", filter=True, group=True)
    subject: str = column(f"A few words, at most {models.MAX_SUBJECT} characters; may be empty.", filter=True)
    body: str = column(f"What was said, 1 to {models.MAX_BODY:,} characters.", filter=True)
    sender_id: strawberry.ID = column("Who said it.", prefix=Prefix.AGENT, filter=True, group=True)
    recipient_id: strawberry.ID | None = column(
        "Who it is for; null unless direct.", prefix=Prefix.AGENT, filter=True, group=True
    )
    task_id: strawberry.ID | None = column(
        "The task that it is about, in a task's channel that task; null: none.", prefix=Prefix.TASK, filter=True
    )
    reply_to_id: strawberry.ID | None = column(
        "The message that it answers; null: none.", prefix=Prefix.AGENT_MESSAGE, filter=True
    )
    recipient_count: int = column("How many agents got it, 1 or more.", filter=True, aggregate=True)
    sent_at: DateTime = column("When it was sent.", filter=True, order=True, group=True, aggregate=True)
    expires_at: DateTime | None = column("When it means nothing any more; null: never.", filter=True, order=True)
    expired: bool = expression("Whether that moment has passed. It can still be read.", _expired)
    sender = one("Agent", _AGENTS, "Who said it.", on=lambda message, agent: agent.id == message.sender_id)
    recipient = one(
        "Agent", _AGENTS, "Who it is for; null unless direct.", nullable=True,
        on=lambda message, agent: agent.id == message.recipient_id,
    )  # fmt: skip
    task = one(
        "Task", _TASKS, "The task that it is about; null: none.", nullable=True,
        on=lambda message, task: task.id == message.task_id,
    )  # fmt: skip
    reply_to = one(
        "AgentMessage", _HERE, "The message that it answers; null: none.", nullable=True,
        on=lambda message, other: other.id == message.reply_to_id,
    )  # fmt: skip
    replies = many(
        "AgentMessage", _HERE, "The messages that answer it.", on=lambda message, other: other.reply_to_id == message.id
    )
    entries = many(
        "InboxEntry", _HERE, "The inboxes that it was put into, and when it was read there.",
        on=lambda message, entry: entry.message_id == message.id,
    )  # fmt: skip


@mapped(models.InboxEntry.__table__, prefix=Prefix.INBOX_ENTRY, scope=_readable_entry)
@strawberry.type(description="A message in an agent's inbox.")
class InboxEntry(Node):
    type: models.AgentMessageType = column("What the message is.", filter=True, group=True)
    agent_id: strawberry.ID = column("Whose inbox.", prefix=Prefix.AGENT, filter=True, group=True)
    sender_id: strawberry.ID = column("Who sent it.", prefix=Prefix.AGENT, filter=True, group=True)
    unread: bool = column("Whether the agent has yet to acknowledge it.", filter=True, order=True, group=True)
    received_at: DateTime = column("When it was sent.", filter=True, order=True, group=True, aggregate=True)
    read_at: DateTime | None = column(
        "When the agent acknowledged it, or completed the task in which its tool showed it; null while unread.",
        filter=True,
        order=True,
    )
    expires_at: DateTime | None = column("When it means nothing any more; null: never.", filter=True, order=True)
    expired: bool = expression("Whether that moment has passed. It can still be read.", _expired)
    cursor: Cursor = expression(
        "Its place in the event log: acknowledge through it, or give it as `after` to inboxEvents.", event_cursor
    )
    message = one("AgentMessage", _HERE, "The message.", on=lambda entry, message: message.id == entry.message_id)
    sender = one("Agent", _AGENTS, "Who sent it.", on=lambda entry, agent: agent.id == entry.sender_id)
    agent = one("Agent", _AGENTS, "Whose inbox.", on=lambda entry, agent: agent.id == entry.agent_id)


publish_connection(AgentMessage)
publish_connection(InboxEntry, default_order="position")
