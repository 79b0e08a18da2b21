"""The subscription to what happens to consultations."""

from __future__ import annotations

from typing import Annotated, Any

import strawberry

from app.auth.principal import Principal
from app.auth.roles import Permission, Role
from app.consultations import queries
from app.db.engine import Database
from app.errors import Forbidden
from app.events.kinds import EventKind
from app.events.reading import Topic
from app.ids import Prefix, from_global
from graphql_schema.events.subscription import AFTER, StreamItem
from graphql_schema.streams.field import stream

_KINDS = frozenset(kind for kind in EventKind if kind.value.startswith("consultation."))


async def _topic(principal: Principal, database: Database, arguments: dict[str, Any]) -> Topic:
    """An agent's own key may follow the consultations in which its agent asks or answers; others read events."""
    if principal.role is not Role.AGENT:
        principal.require(Permission.READ_EVENTS)
    named = arguments.get("consultationId")
    if not named:
        own = principal.agent_id if principal.role is Role.AGENT else None
        return Topic(principal.team_id, _KINDS, party_id=own)
    consultation_id = from_global(Prefix.CONSULTATION, named, path="consultationId")
    parties = await queries.require(database, team_id=principal.team_id, consultation_id=consultation_id)
    if principal.role is Role.AGENT and principal.agent_id not in tuple(parties):
        raise Forbidden("This key acts as one agent and may follow only consultations that this agent takes part in.")
    return Topic(principal.team_id, consultation_id=consultation_id)


consultation_events = stream(
    StreamItem,
    {
        "consultation_id": (
            Annotated[
                strawberry.ID | None,
                strawberry.argument(
                    description="The consultation's id, `consult_0190…`; left out: all of the team's, or for an "
                    "agent's key those of its agent."
                ),
            ],
            strawberry.UNSET,
        ),
        "after": AFTER,
    },
    "What happens to consultations, in one order, without gap or repeat: asked, taken up, answered, clarified, found "
    "in a loop, escalated, redirected, closed, rated. Of one consultation also what a person is asked about it.",
    _topic,
)
