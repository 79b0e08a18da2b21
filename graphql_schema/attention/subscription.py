"""Subscription to what needs a person."""

from __future__ import annotations

from typing import Any

from app.auth.principal import Principal
from app.auth.roles import Permission, Role
from app.db.engine import Database
from app.events.kinds import EventKind
from app.events.reading import Topic
from graphql_schema.events.subscription import AFTER, StreamItem
from graphql_schema.streams.field import stream

_KINDS = frozenset(
    {
        EventKind.ATTENTION_OPENED,
        EventKind.ATTENTION_ASSIGNED,
        EventKind.ATTENTION_ANSWERED,
        EventKind.ATTENTION_EXPIRED,
        EventKind.ATTENTION_WITHDRAWN,
    }
)


async def _topic(principal: Principal, database: Database, arguments: dict[str, Any]) -> Topic:
    if principal.role is Role.AGENT:
        return Topic(principal.team_id, _KINDS, agent_id=principal.agent_id)
    principal.require(Permission.READ_EVENTS)
    return Topic(principal.team_id, _KINDS)


attention_events = stream(
    StreamItem,
    {"after": AFTER},
    "What comes into the queue of everything that needs a person, and what becomes of it: each event has its "
    "`attentionItem`. An agent's key follows what its own agent asked.",
    _topic,
)
