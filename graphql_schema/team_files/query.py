"""The root field that writes the team as a file."""

from __future__ import annotations

from typing import Any

import strawberry

from app.team_files.export import export
from graphql_schema.context import Info
from graphql_schema.planner.mapping import python

COST = 200


@strawberry.type(description="A team as a file.")
class TeamFile:
    text: str = strawberry.field(description="YAML, as applyTeam takes it.")


@python(
    "The team as a team file: applied to it, it changes nothing. Archived agents, keys and routing policies are not "
    "part of it.",
    cost=COST,
)
async def team_file(self: Any, info: Info) -> TeamFile | None:
    context = info.context
    async with context.services.transaction() as session:
        return TeamFile(text=await export(session, team_id=context.principal.team_id))
