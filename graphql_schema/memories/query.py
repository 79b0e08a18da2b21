"""The root field that recalls."""

from __future__ import annotations

from typing import Annotated, Any

import strawberry

from app.auth.roles import Role
from app.conversations.queries import require_speaking_with
from app.errors import Forbidden, NotFound, check_text
from app.ids import Prefix, from_global
from app.memories.library import MAX_QUERY
from app.memories.models import MAX_SUBJECT, MemoryKind
from app.memories.recall import MOST_RECALLED, USUAL_LIMIT, View
from graphql_schema.context import Info
from graphql_schema.memories.types import RecalledMemory
from graphql_schema.planner.mapping import python

_QUERY = strawberry.argument(description=f"What it is to be about, 1 to {MAX_QUERY:,} characters.")
_KINDS = strawberry.argument(description="Only these kinds, of an empty list none; null: all.")
_AGENT = strawberry.argument(
    description="What this agent would recall: its own and the team's. Null: everything that the key may read."
)
_SUBJECT = strawberry.argument(
    description="The user who is spoken with, by the `userId` of conversations: of profiles only that user's. An "
    "agent's key may name only users with whom that agent has an open conversation. Null: with agentId or an agent's "
    "key none, else every user's."
)
_FIRST = strawberry.argument(description=f"How many at most, 1 to {MOST_RECALLED}.")


@python(
    "Memories that a text calls to mind, best first, by what it means and not only by its words. What was committed "
    "anywhere before is taken into account.",
    cost=5,
    most=MOST_RECALLED,
)
async def recall_memories(
    self: Any,
    info: Info,
    query: Annotated[str, _QUERY],
    kinds: Annotated[list[MemoryKind] | None, _KINDS] = strawberry.UNSET,
    agent_id: Annotated[strawberry.ID | None, _AGENT] = strawberry.UNSET,
    subject: Annotated[str | None, _SUBJECT] = strawberry.UNSET,
    first: Annotated[int, _FIRST] = USUAL_LIMIT,
) -> list[RecalledMemory] | None:
    principal, services = info.context.principal, info.context.services
    text = check_text("query", query, least=1, most=MAX_QUERY)
    subject = check_text("subject", subject, most=MAX_SUBJECT) if subject else None
    named = from_global(Prefix.AGENT, agent_id, path="agentId") if agent_id else None
    if principal.role is Role.AGENT and named not in (None, principal.agent_id):
        raise Forbidden("This key acts as one agent and may recall only as that agent.")
    if named is not None and not await services.database.fetchval(
        "select exists (select from agent where team_id = $1 and id = $2)", principal.team_id, named
    ):
        raise NotFound("There is no such agent in this team.")
    reader = named or principal.agent_id
    if principal.agent_id is not None and subject:
        await require_speaking_with(
            services.database, team_id=principal.team_id, agent_id=principal.agent_id, user_id=subject
        )
    view = View(
        team_id=principal.team_id,
        owners=None if reader is None else (principal.team_id, reader),
        kinds=None if kinds is None or kinds is strawberry.UNSET else tuple(sorted(set(kinds))),
        subject=subject,
        of_every_user=reader is None and not subject,
        reader=reader,
    )
    found = await services.library.search(view, text=text, limit=first)
    return [RecalledMemory.of(one) for one in found]
