"""The subscription to what happens in a collaboration session."""

from __future__ import annotations

from typing import Annotated, Any

import strawberry

from app.auth.principal import Principal
from app.auth.roles import Permission, Role
from app.collaborations.queries import require_session, takes_part
from app.db.engine import Database
from app.errors import Forbidden
from app.events.reading import Topic
from app.ids import Prefix, from_global
from graphql_schema.events.subscription import AFTER, StreamItem
from graphql_schema.streams.field import stream


async def _topic(principal: Principal, database: Database, arguments: dict[str, Any]) -> Topic:
    """An agent's own key may follow the sessions that it takes part in; others read events."""
    collaboration_id = from_global(Prefix.COLLABORATION, arguments["collaborationId"], path="collaborationId")
    if principal.role is not Role.AGENT:
        principal.require(Permission.READ_EVENTS)
    await require_session(database, team_id=principal.team_id, collaboration_id=collaboration_id)
    if principal.role is Role.AGENT:
        assert principal.agent_id is not None
        if not await takes_part(database, collaboration_id=collaboration_id, agent_id=principal.agent_id):
            raise Forbidden("This key acts as one agent and may follow only sessions that this agent takes part in.")
    return Topic(principal.team_id, collaboration_id=collaboration_id)


collaboration_events = stream(
    StreamItem,
    {
        "collaboration_id": Annotated[
            strawberry.ID, strawberry.argument(description="The session's id, `collab_0190…`.")
        ],
        "after": AFTER,
    },
    "What happens in one collaboration session, in one order, without gap or repeat: its stages, the tasks of these "
    "and those below with their progress and cost, decisions, and its end. An agent's key may follow the sessions that "
    "its agent takes part in.",
    _topic,
)
