"""The root fields that find agents."""

from __future__ import annotations

from typing import Annotated, Any

import strawberry

from app.discovery import queries
from app.discovery.experts import MOST_CHARACTERS, MOST_SKILLS
from app.errors import InvalidInput
from app.ids import Prefix, from_global
from app.routing.models import MAX_QUERY
from graphql_schema.context import Info
from graphql_schema.discovery.types import Expert, Recommendation
from graphql_schema.planner.mapping import python

MOST_EXPERTS = 50
MOST_RECOMMENDED = 10
MOST_EXCLUDED = 100

_REQUIRED = strawberry.argument(
    description=f"1 to {MOST_SKILLS} skills by name, each 1 to {MOST_CHARACTERS} characters; case does not matter, "
    "repetitions count once."
)
_EXCLUDE = strawberry.argument(description=f"Agents to leave out, at most {MOST_EXCLUDED}.")
_EXPERTS = strawberry.argument(description=f"How many at most, 1 to {MOST_EXPERTS}.")
_QUERY = strawberry.argument(description=f"What somebody wants to know or have done, 1 to {MAX_QUERY:,} characters.")
_RECOMMENDED = strawberry.argument(description=f"How many at most, 1 to {MOST_RECOMMENDED}.")


@python(
    "Active agents that have some of the required skills: most of them first, then those who are available, then the "
    "least busy, then by slug. Empty when nobody has any.",
    cost=10,
    most=MOST_EXPERTS,
)
async def find_experts(
    self: Any,
    info: Info,
    required_skills: Annotated[list[str], _REQUIRED],
    exclude: Annotated[list[strawberry.ID] | None, _EXCLUDE] = strawberry.UNSET,
    first: Annotated[int, _EXPERTS] = 10,
) -> list[Expert] | None:
    services = info.context.services
    found = await queries.find_experts(
        services.database,
        services.team_indexes,
        services.embedder,
        team_id=info.context.principal.team_id,
        required=required_skills,
        exclude=_agents(exclude or []),
        first=first,
    )
    return [Expert.of(one) for one in found]


@python(
    "Active agents that could answer a query, best first, by what it means and not only by its words. Empty when it is "
    "about nothing that the team can do. Nothing is decided or logged.",
    cost=5,
    most=MOST_RECOMMENDED,
)
async def recommend_agents(
    self: Any, info: Info, query: Annotated[str, _QUERY], first: Annotated[int, _RECOMMENDED] = 3
) -> list[Recommendation] | None:
    services = info.context.services
    found = await queries.recommend(
        services.database,
        services.team_indexes,
        services.embedder,
        team_id=info.context.principal.team_id,
        query=query,
        first=first,
    )
    return [Recommendation.of(one) for one in found]


def _agents(ids: list[strawberry.ID]) -> set[Any]:
    if len(ids) > MOST_EXCLUDED:
        raise InvalidInput.of("exclude", f"takes at most {MOST_EXCLUDED} agents, not {len(ids)}")
    return {from_global(Prefix.AGENT, one, path=f"exclude.{place}") for place, one in enumerate(ids)}
