"""Subscription to an agent's inbox."""

from __future__ import annotations

from typing import Annotated, Any

import strawberry

from app.auth.principal import Principal
from app.db.engine import Database
from app.events.kinds import EventKind
from app.events.reading import Topic
from graphql_schema.events.subscription import AFTER, StreamItem, followed_agent
from graphql_schema.streams.field import stream

_KINDS = frozenset({EventKind.AGENT_MESSAGE_RECEIVED, EventKind.INBOX_ACKNOWLEDGED})


async def _topic(principal: Principal, database: Database, arguments: dict[str, Any]) -> Topic:
    return Topic(principal.team_id, _KINDS, agent_id=await followed_agent(principal, database, arguments))


inbox_events = stream(
    StreamItem,
    {
        "agent_id": Annotated[strawberry.ID, strawberry.argument(description="The agent's id, `agent_0190…`.")],
        "after": AFTER,
    },
    "What comes into one agent's inbox, each message once, in one order: AGENT_MESSAGE_RECEIVED with its `inboxEntry`, "
    "and INBOX_ACKNOWLEDGED when some were read. An agent's key may follow its own agent.",
    _topic,
)
