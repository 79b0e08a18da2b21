"""Subscriptions to the event log: what all of them send, and those to a team and to an agent."""

from __future__ import annotations

from typing import Annotated, Any, Union
from uuid import UUID

import strawberry

from app.auth.principal import Principal
from app.auth.roles import Permission, Role
from app.db.engine import Database
from app.errors import Forbidden, NotFound
from app.events.kinds import EventKind
from app.events.reading import Topic
from app.ids import Prefix, from_global
from graphql_schema.events.types import Event
from graphql_schema.scalars import Cursor
from graphql_schema.streams.field import stream


@strawberry.type(
    description="Everything up to here has been sent; what follows is live. Comes again after a slow spell."
)
class CaughtUp:
    cursor: Cursor = strawberry.field(description="Where the stream stands. Give it as `after` to come back here.")


@strawberry.type(
    description="The cursor given as `after` is older than retention: events between it and `cursor` are gone. "
    "Read the current state anew; the stream goes on from `cursor`."
)
class Gap:
    cursor: Cursor = strawberry.field(description="Where the stream goes on.")
    message: str = strawberry.field(description="For people: what happened and what to do.")


StreamItem = Annotated[
    Union[Event, CaughtUp, Gap],  # noqa: UP007  Strawberry needs a union that it can name
    strawberry.union("StreamItem", description="An event, or a word about the stream itself."),
]
AFTER = (
    Annotated[
        Cursor | None,
        strawberry.argument(
            description="Replay everything behind this cursor first: one from an event, a marker or a payload. "
            "Without it the stream starts now."
        ),
    ],
    strawberry.UNSET,
)


async def _team_topic(principal: Principal, database: Database, arguments: dict[str, Any]) -> Topic:
    principal.require(Permission.READ_EVENTS)
    kinds = arguments.get("kinds")
    return Topic(principal.team_id, frozenset(kinds) if kinds is not None else None)


async def followed_agent(principal: Principal, database: Database, arguments: dict[str, Any]) -> UUID:
    """An agent's own key may follow that agent; other roles need the right to read events."""
    agent_id = from_global(Prefix.AGENT, arguments["agentId"], path="agentId")
    if principal.role is Role.AGENT:
        if principal.agent_id != agent_id:
            raise Forbidden("This key acts as one agent and may follow only that agent's events.")
    else:
        principal.require(Permission.READ_EVENTS)
    found = await database.fetchval(
        "select true from agent where team_id = $1 and id = $2", principal.team_id, agent_id
    )
    if not found:
        raise NotFound("There is no such agent in this team.")
    return agent_id


async def _agent_topic(principal: Principal, database: Database, arguments: dict[str, Any]) -> Topic:
    return Topic(principal.team_id, agent_id=await followed_agent(principal, database, arguments))


team_events = stream(
    StreamItem,
    {
        "kinds": (
            Annotated[list[EventKind] | None, strawberry.argument(description="Only these kinds; all by default.")],
            strawberry.UNSET,
        ),
        "after": AFTER,
    },
    "What happens in the team, in one order, without gap or repeat.",
    _team_topic,
)
agent_events = stream(
    StreamItem,
    {
        "agent_id": Annotated[strawberry.ID, strawberry.argument(description="The agent's id.")],
        "after": AFTER,
    },
    "What happens to one agent, in one order, without gap or repeat.",
    _agent_topic,
)
