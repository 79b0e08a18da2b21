"""Mutations of groups."""

from __future__ import annotations

from uuid import UUID

import strawberry
from sqlalchemy import select

from app.agents.models import Agent
from app.auth.roles import Permission
from app.discovery import queries as discovery
from app.errors import InvalidInput
from app.errors import NotFound as Missing
from app.groups import service
from app.groups.forming import form
from app.groups.models import MAX_PURPOSE
from app.groups.spec import MAX_DEPTH, MAX_GROUPS, MAX_MEMBERS, MAX_SKILLS, parse_group
from app.ids import Prefix, from_global
from graphql_schema.context import Context
from graphql_schema.groups.types import Group
from graphql_schema.mutations import MutationInput, Payload, Work, mutation
from graphql_schema.planner.mapping import entity
from graphql_schema.refusals import Conflict, CycleDetected, NotFound

MOST_EXPERTS = 50


@strawberry.input(description="A group, described whole: what is left out is empty, also if it was not before.")
class SaveGroupInput(MutationInput):
    slug: str = strawberry.field(
        description="Which group; a new one where the team has none of this slug. Lower-case letters, digits and inner "
        "hyphens, up to 63."
    )
    name: str = strawberry.field(description="The name to show, 1 to 120 characters.")
    purpose: str = strawberry.field(default="", description=f"What it is for, up to {MAX_PURPOSE:,} characters.")
    agent_ids: list[strawberry.ID] = strawberry.field(
        default_factory=list, description=f"The agents in it, at most {MAX_MEMBERS}."
    )
    required_skills: list[str] = strawberry.field(
        default_factory=list,
        description=f"Instead of agents: up to {MAX_SKILLS} skills. The fewest active agents are taken that have them "
        "all together, now; saving it again chooses anew.",
    )
    coordinator_id: strawberry.ID | None = strawberry.field(
        default=None,
        description="Who takes up what is given to the group, and delegates within it. Null: the member whose skills "
        "match best does it.",
    )
    parent_id: strawberry.ID | None = strawberry.field(
        default=None, description=f"The group that it lies in; up to {MAX_DEPTH} may lie in each other. Null: none."
    )


@strawberry.input(description="Which group to dissolve.")
class DissolveGroupInput(MutationInput):
    group_id: strawberry.ID = strawberry.field(description="Which group.")


@strawberry.type(description="The group after the change.")
class GroupPayload(Payload):
    group: Group = entity("The group, as it is now.")


async def _form(context: Context, input: SaveGroupInput) -> list[str] | None:
    """The slugs of those who have the required skills; None where agents are named."""
    if not input.required_skills:
        return None
    if input.agent_ids:
        raise InvalidInput.of("requiredSkills", "goes without agentIds: the agents are found by these skills")
    services = context.services
    found = await discovery.find_experts(
        services.database,
        services.team_indexes,
        services.embedder,
        team_id=context.principal.team_id,
        required=input.required_skills,
        first=MOST_EXPERTS,
    )
    slugs, missing = form([one.expert for one in found], input.required_skills)
    if missing:
        raise InvalidInput.of("requiredSkills", f"no active agent has {', '.join(repr(one[:120]) for one in missing)}")
    return slugs


async def _slugs(work: Work, ids: list[UUID]) -> dict[UUID, str]:
    rows = await work.session.execute(
        select(Agent.id, Agent.slug).where(Agent.team_id == work.team_id, Agent.id.in_(ids))
    )
    found = {agent_id: slug for agent_id, slug in rows}
    if len(found) < len(set(ids)):
        raise Missing("There is no such agent in this team.")
    return found


@mutation(
    f"Forms a group, or changes the one with this slug. A team has at most {MAX_GROUPS}.",
    needs=Permission.WRITE_AGENTS,
    refusals=(NotFound, Conflict, CycleDetected),
    prepare=_form,
)
async def save_group(work: Work, input: SaveGroupInput) -> GroupPayload:
    agents = [from_global(Prefix.AGENT, one, path=f"agentIds.{at}") for at, one in enumerate(input.agent_ids)]
    coordinator = (
        from_global(Prefix.AGENT, input.coordinator_id, path="coordinatorId") if input.coordinator_id else None
    )
    parent = from_global(Prefix.GROUP, input.parent_id, path="parentId") if input.parent_id else None
    slugs = await _slugs(work, [*agents, *([coordinator] if coordinator else [])])
    spec = parse_group(
        {
            "slug": input.slug,
            "name": input.name,
            "purpose": input.purpose,
            "coordinator": slugs[coordinator] if coordinator else None,
            "parent": await service.slug_of(work.session, work.team_id, parent) if parent else None,
            "agents": work.prepared or [slugs[one] for one in agents],
            "required_skills": input.required_skills,
        }
    )
    group = await service.save(work.session, team_id=work.team_id, spec=spec, actor=work.actor)
    return GroupPayload(group=group.id)  # type: ignore[arg-type]


@mutation(
    "Dissolves a group. Groups in it move up to the group around it; tasks that were given to it go on.",
    needs=Permission.WRITE_AGENTS,
    refusals=(NotFound, Conflict),
)
async def dissolve_group(work: Work, input: DissolveGroupInput) -> GroupPayload:
    group = await service.dissolve(
        work.session,
        team_id=work.team_id,
        group_id=from_global(Prefix.GROUP, input.group_id, path="groupId"),
        actor=work.actor,
    )
    return GroupPayload(group=group.id)  # type: ignore[arg-type]
