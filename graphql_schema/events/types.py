"""Events, as the graph shows them."""

from __future__ import annotations

from typing import Any

import strawberry
from sqlalchemy import ColumnElement, Integer, Text, Uuid, and_, case, cast, func, select
from sqlalchemy.dialects.postgresql import BYTEA

from app.auth.roles import Permission
from app.events import models
from app.events.kinds import EventKind
from app.ids import Prefix
from graphql_schema.node import Node
from graphql_schema.planner.connections import publish_connection
from graphql_schema.planner.mapping import Caller, column, expression, mapped, one
from graphql_schema.planner.sql import word
from graphql_schema.scalars import JSON, Cursor, DateTime

_CONVERSATIONS = "graphql_schema.conversations.types"


def event_cursor(row: Any) -> ColumnElement[str]:
    """The text that app.events.cursor makes, made in SQL: version, team tag, position, event."""
    tag = func.substring(func.uuid_send(row.team_id), 13)
    packed = (
        word("\\x01").cast(BYTEA).op("||")(tag).op("||")(func.int8send(row.position)).op("||")(func.uuid_send(row.id))
    )
    return func.rtrim(func.translate(func.encode(packed, word("base64")), word("+/"), word("-_")), word("="))


def _readable(row: Any) -> ColumnElement[bool]:
    """The caller's team's, and only what no running transaction can still precede: the order of lists is the log's."""
    return and_(row.team_id == Caller.team_id, row.position < select(func.event_horizon()).scalar_subquery())


def _told_message(event: Any, message: Any) -> ColumnElement[bool]:
    """By the number that the event tells, which only this kind is sure to have."""
    told = cast(func.jsonb_extract_path_text(event.changes, word("number")), Integer)
    number = case((cast(event.kind, Text) == word(EventKind.MESSAGE_ADDED.value), told))
    return and_(message.conversation_id == event.conversation_id, message.number == number)


def _told_attention(event: Any, item: Any) -> ColumnElement[bool]:
    """By the id that the event tells; other kinds may tell one under this name that is none."""
    told = func.split_part(func.jsonb_extract_path_text(event.changes, word("attentionId")), word("_"), 2)
    attention = cast(event.kind, Text).like(word("attention.%"))
    named: ColumnElement[bool] = item.id == case((attention, cast(told, Uuid)))
    return named


@mapped(models.Event.__table__, prefix=Prefix.EVENT, scope=_readable, node_needs=Permission.READ_EVENTS)
@strawberry.type(description="Something that happened in the team.")
class Event(Node):
    kind: EventKind = column("What happened.", filter=True, group=True)
    at: DateTime = column("When the change was begun.", filter=True, order=True, group=True, aggregate=True)
    actor: str = column(
        "Who did it: the name of the key that was used, or `parley` for the server.", filter=True, group=True
    )
    agent_id: strawberry.ID | None = column(
        "The agent that it concerns; null: none.", prefix=Prefix.AGENT, filter=True, group=True
    )
    changes: JSON = column(
        "What changed: new values by field name. Its keys depend on the kind; a task's texts are cut to 500 characters."
    )
    cursor: Cursor = expression(
        "The event's place in the log. Give it as `after` to go on behind this event.",
        event_cursor,
    )
    api_key = one(
        "ApiKey", "graphql_schema.auth.types", "The key that was used; null for the server's own.", nullable=True,
        on=lambda event, key: key.id == event.api_key_id,
        needs=Permission.MANAGE_KEYS,
    )  # fmt: skip
    agent = one(
        "Agent", "graphql_schema.agents.types", "The agent that it concerns; null: none.", nullable=True,
        on=lambda event, agent: agent.id == event.agent_id,
    )  # fmt: skip
    task = one(
        "Task", "graphql_schema.tasks.types", "The task that it concerns; null when it concerns none.", nullable=True,
        on=lambda event, task: task.id == event.task_id,
    )  # fmt: skip
    collaboration = one(
        "CollaborationSession", "graphql_schema.collaborations.types",
        "The collaboration session that it concerns; null when it concerns none.", nullable=True,
        on=lambda event, session: session.id == event.collaboration_id,
    )  # fmt: skip
    consultation = one(
        "Consultation", "graphql_schema.consultations.types",
        "The consultation that it concerns; null when it concerns none.", nullable=True,
        on=lambda event, consultation: consultation.id == event.consultation_id,
    )  # fmt: skip
    conversation = one(
        "Conversation", _CONVERSATIONS, "The conversation that it concerns; null: none.", nullable=True,
        on=lambda event, conversation: conversation.id == event.conversation_id,
    )  # fmt: skip
    message = one(
        "Message", _CONVERSATIONS, "The message that MESSAGE_ADDED tells of; null for other kinds.", nullable=True,
        on=_told_message,
    )  # fmt: skip
    inbox_entry = one(
        "InboxEntry", "graphql_schema.messages.types",
        "The message that came into the agent's inbox; null unless the kind is AGENT_MESSAGE_RECEIVED.", nullable=True,
        on=lambda event, entry: entry.id == event.id,
    )  # fmt: skip
    attention_item = one(
        "AttentionItem", "graphql_schema.attention.types",
        "What needs a person; null unless the kind begins with ATTENTION.", nullable=True, on=_told_attention,
    )  # fmt: skip


publish_connection(Event, default_order="position")
