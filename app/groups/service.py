"""Saves, dissolves and replaces a team's groups. Whoever changes them holds the team's row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from uuid import UUID

from sqlalchemy import Select, delete, func, insert, select, update
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import aliased

from app.agents.models import Agent, AgentStatus
from app.errors import Conflict, FieldProblem, InvalidInput, NotFound
from app.events.kinds import EventKind
from app.events.log import Actor, append
from app.groups.models import AgentGroup, AgentGroupMember
from app.groups.spec import MAX_GROUPS, GroupSpec, circle, problems_with
from app.ids import Prefix, new_id, to_global
from app.tasks.errors import CycleDetected
from app.teams import service as teams


async def groups_of(session: AsyncSession, team_id: UUID) -> dict[str, GroupSpec]:
    """Those that are not dissolved, oldest first; without archived agents, who can do nothing in them."""
    above, agent = aliased(AgentGroup), aliased(Agent)
    members = (
        select(func.array_agg(Agent.slug, type_=AgentGroup.required_skills.type))
        .join(AgentGroupMember, AgentGroupMember.agent_id == Agent.id)
        .where(AgentGroupMember.group_id == AgentGroup.id, Agent.status != AgentStatus.ARCHIVED)
        .scalar_subquery()
    )
    living = (agent.id == AgentGroup.coordinator_id) & (agent.status != AgentStatus.ARCHIVED)
    rows = await session.execute(
        select(AgentGroup, above.slug, agent.slug, members)
        .outerjoin(above, above.id == AgentGroup.parent_id)
        .outerjoin(agent, living)
        .where(AgentGroup.team_id == team_id, AgentGroup.dissolved_at.is_(None))
        .order_by(AgentGroup.created_at, AgentGroup.id)
        .execution_options(populate_existing=True)
    )
    return {
        group.slug: GroupSpec(
            slug=group.slug,
            name=group.name,
            purpose=group.purpose,
            coordinator=coordinator,
            parent=parent,
            agents=tuple(slugs or ()),
            required_skills=tuple(group.required_skills),
        )
        for group, parent, coordinator, slugs in rows
    }


async def save(session: AsyncSession, *, team_id: UUID, spec: GroupSpec, actor: Actor) -> AgentGroup:
    """A new group, or the one with this slug brought to it. Raises InvalidInput, Conflict or CycleDetected."""
    await teams.lock(session, team_id)
    current = await groups_of(session, team_id)
    if spec.slug not in current and len(current) >= MAX_GROUPS:
        raise Conflict(f"This team has {MAX_GROUPS} groups, the most there may be. Dissolve one first.")
    wanted = {**current, spec.slug: spec}
    if chain := circle(wanted, spec.slug):
        raise CycleDetected(chain, "The groups would lie in each other", "Choose another parent.")
    agents = await _living_agents(session, team_id)
    place = list(wanted).index(spec.slug)
    mine = [
        one for one in problems_with(list(wanted.values()), slugs=agents) if one["path"].startswith(f"groups.{place}.")
    ]
    if mine:
        problems = [FieldProblem(one["path"].removeprefix(f"groups.{place}."), one["message"]) for one in mine]
        raise InvalidInput("; ".join(f"{one['path']}: {one['message']}" for one in problems), problems)
    if current.get(spec.slug) != spec:
        await _write(session, team_id, spec, agents, actor)
    return (await session.scalars(_live(team_id, spec.slug))).one()


async def dissolve(session: AsyncSession, *, team_id: UUID, group_id: UUID, actor: Actor) -> AgentGroup:
    """Groups in it move up to the group around it; tasks under way go on. Raises NotFound or Conflict."""
    await teams.lock(session, team_id)
    group = await find(session, team_id, group_id)
    if group.dissolved_at is not None:
        raise Conflict(f"'{group.slug}' is dissolved already.")
    await _dissolve(session, group, actor)
    return group


async def replace(session: AsyncSession, *, team_id: UUID, groups: Sequence[GroupSpec], actor: Actor) -> None:
    """Bring a locked team to these groups, touching only what differs; raises InvalidInput that names every problem."""
    agents = await _living_agents(session, team_id)
    if problems := problems_with(groups, slugs=agents):
        raise InvalidInput("These groups do not fit the team.", problems)
    current, wanted = await groups_of(session, team_id), {group.slug: group for group in groups}
    for slug in current.keys() - wanted.keys():
        await _dissolve(session, (await session.scalars(_live(team_id, slug))).one(), actor)
    changed = [group for group in _outer_first(wanted) if current.get(group.slug) != group]
    for group in changed:
        await _write(session, team_id, group, agents, actor)


async def find(session: AsyncSession, team_id: UUID, group_id: UUID) -> AgentGroup:
    """The group's row, held until the transaction ends; raises NotFound."""
    mine = select(AgentGroup).where(AgentGroup.team_id == team_id, AgentGroup.id == group_id)
    held = mine.with_for_update(key_share=True).execution_options(populate_existing=True)
    group = await session.scalar(held)
    if group is None:
        raise NotFound("There is no such group in this team.")
    return group


async def slug_of(session: AsyncSession, team_id: UUID, group_id: UUID) -> str:
    """Of a group that is not dissolved; raises NotFound. Its row is not held: that of the team comes first."""
    mine = select(AgentGroup.slug).where(AgentGroup.team_id == team_id, AgentGroup.id == group_id)
    slug = await session.scalar(mine.where(AgentGroup.dissolved_at.is_(None)))
    if slug is None:
        raise NotFound("There is no such group in this team, or it is dissolved.")
    return slug


async def id_of(session: AsyncSession, team_id: UUID, slug: str) -> UUID:
    """Of a group that is not dissolved; raises NotFound."""
    group = await session.scalar(_live(team_id, slug))
    if group is None:
        raise NotFound("There is no such group in this team, or it is dissolved.")
    return group.id


async def ids_by_slug(session: AsyncSession, team_id: UUID) -> dict[str, UUID]:
    """Of all groups that are not dissolved."""
    living = (AgentGroup.team_id == team_id) & AgentGroup.dissolved_at.is_(None)
    rows = await session.execute(select(AgentGroup.slug, AgentGroup.id).where(living))
    return {slug: group_id for slug, group_id in rows}


def _outer_first(groups: Mapping[str, GroupSpec]) -> list[GroupSpec]:
    """A group is written after the one around it."""
    order: dict[str, GroupSpec] = {}

    def put(group: GroupSpec) -> None:
        if group.slug not in order:
            if group.parent is not None:
                put(groups[group.parent])
            order[group.slug] = group

    for group in groups.values():
        put(group)
    return list(order.values())


async def _write(
    session: AsyncSession, team_id: UUID, spec: GroupSpec, agents: Mapping[str, UUID], actor: Actor
) -> None:
    parent = (await session.scalars(_live(team_id, spec.parent))).one() if spec.parent else None
    group = await session.scalar(_live(team_id, spec.slug).with_for_update(key_share=True))
    if group is None:
        group = AgentGroup(id=new_id(), team_id=team_id, slug=spec.slug)
        session.add(group)
    group.name, group.purpose, group.required_skills = spec.name, spec.purpose, list(spec.required_skills)
    group.coordinator_id = agents[spec.coordinator] if spec.coordinator else None
    group.parent_id = parent.id if parent else None
    await session.flush()
    await session.execute(delete(AgentGroupMember).where(AgentGroupMember.group_id == group.id))
    rows = [{"team_id": team_id, "group_id": group.id, "agent_id": agents[slug]} for slug in spec.agents]
    if rows:
        await session.execute(insert(AgentGroupMember), rows)
    told = {"group_id": to_global(Prefix.GROUP, group.id), **spec.model_dump(mode="json")}
    append(session, EventKind.GROUP_SAVED, team_id=team_id, actor=actor, changes=told)


async def _dissolve(session: AsyncSession, group: AgentGroup, actor: Actor) -> None:
    inner = update(AgentGroup).where(AgentGroup.team_id == group.team_id, AgentGroup.parent_id == group.id)
    await session.execute(inner.values(parent_id=group.parent_id))
    mine = update(AgentGroup).where(AgentGroup.id == group.id)
    await session.execute(mine.values(dissolved_at=func.now(), parent_id=None))
    told = {"group_id": to_global(Prefix.GROUP, group.id), "slug": group.slug}
    append(session, EventKind.GROUP_DISSOLVED, team_id=group.team_id, actor=actor, changes=told)


def _live(team_id: UUID, slug: str | None) -> Select[AgentGroup]:
    mine = (AgentGroup.team_id == team_id) & (AgentGroup.slug == slug)
    return select(AgentGroup).where(mine, AgentGroup.dissolved_at.is_(None))


async def _living_agents(session: AsyncSession, team_id: UUID) -> dict[str, UUID]:
    living = (Agent.team_id == team_id) & (Agent.status != AgentStatus.ARCHIVED)
    rows = await session.execute(select(Agent.slug, Agent.id).where(living))
    return {slug: agent_id for slug, agent_id in rows}
