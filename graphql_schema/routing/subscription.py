"""Subscription to what routing decides."""

from __future__ import annotations

from typing import Annotated, Any

import strawberry

from app.auth.principal import Principal
from app.auth.roles import Permission
from app.db.engine import Database
from app.events.kinds import EventKind
from app.events.reading import Topic
from graphql_schema.events.subscription import AFTER, StreamItem, followed_agent
from graphql_schema.streams.field import stream

_KINDS = frozenset(kind for kind in EventKind if kind.startswith("routing."))
_FALLBACKS = frozenset({EventKind.ROUTING_FELL_BACK})


async def _topic(principal: Principal, database: Database, arguments: dict[str, Any]) -> Topic:
    kinds = _FALLBACKS if arguments["fallbackOnly"] else _KINDS
    if arguments.get("agentId") is None:
        principal.require(Permission.READ_EVENTS)
        return Topic(principal.team_id, kinds)
    return Topic(principal.team_id, kinds, agent_id=await followed_agent(principal, database, arguments))


routing_events = stream(
    StreamItem,
    {
        "agent_id": (
            Annotated[
                strawberry.ID | None,
                strawberry.argument(description="Only what concerns this agent: selected first, or rated."),
            ],
            strawberry.UNSET,
        ),
        "fallback_only": (
            Annotated[
                bool, strawberry.argument(description="Only messages for which no agent matched: ROUTING_FELL_BACK.")
            ],
            False,
        ),
        "after": AFTER,
    },
    "What routing decides and learns, in one order, without gap or repeat: only the kinds that start with `ROUTING_`. "
    "Each decision is one ROUTING_DECIDED or one ROUTING_FELL_BACK. An agent's key may follow its own agent.",
    _topic,
)
