"""Reads a team as a team file would describe it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from app.agents.models import Agent, AgentStatus, Skill
from app.agents.service import spec_from
from app.agents.spec import SkillSpec
from app.collaborations.templates import TemplateSpec, templates_of
from app.groups.service import groups_of
from app.handoffs.service import rules_of
from app.team_files.current import CurrentTeam
from app.team_files.spec import BudgetsSpec
from app.teams.models import Team


async def current(session: AsyncSession, team: Team, agents: Mapping[str, Agent]) -> CurrentTeam:
    skills = await _skills(session, team.id)
    living = {slug: agent for slug, agent in agents.items() if agent.status is not AgentStatus.ARCHIVED}
    groups = await groups_of(session, team.id)
    return CurrentTeam(
        settings={
            "name": team.name,
            "description": team.description,
            "after_work_behavior": team.after_work,
            "message_policy": team.message_policy,
            "context_variables": team.context_variables,
            "runtime_variables": team.runtime_variables,
            "input_variables": team.input_variables,
        },
        default_agent=next((slug for slug, agent in living.items() if agent.id == team.default_agent_id), None),
        feature_flags=team.flags,
        budgets=BudgetsSpec(day_usd=team.day_budget_usd, month_usd=team.month_budget_usd),
        agents={slug: spec_from(agent, skills[agent.id]) for slug, agent in living.items()},
        archived=frozenset(agents.keys() - living.keys()),
        rules=tuple((await rules_of(session, team.id)).values()),
        groups=tuple(groups.values()),
        templates=tuple(_startable(team, archived=agents.keys() - living.keys(), groups=groups)),
    )


def _startable(team: Team, *, archived: Collection[str], groups: Collection[str]) -> list[TemplateSpec]:
    """Without templates that name an archived agent or a group that is gone: like such rules, they are out of play."""
    return [one for one in templates_of(team, without=archived) if one.named("group") <= set(groups)]


async def agents_by_slug(session: AsyncSession, team_id: UUID, *, lock: bool = False) -> dict[str, Agent]:
    """All agents of a team, oldest first, archived ones too: they keep their slugs."""
    statement = select(Agent).where(Agent.team_id == team_id).order_by(Agent.created_at, Agent.id)
    if lock:
        statement = statement.with_for_update(key_share=True)
    found = await session.scalars(statement.execution_options(populate_existing=True))
    return {agent.slug: agent for agent in found}


async def _skills(session: AsyncSession, team_id: UUID) -> Mapping[UUID, list[SkillSpec]]:
    found: defaultdict[UUID, list[SkillSpec]] = defaultdict(list)
    statement = select(Skill).where(Skill.team_id == team_id).order_by(Skill.agent_id, Skill.position)
    for skill in await session.scalars(statement.execution_options(populate_existing=True)):
        found[skill.agent_id].append(SkillSpec(name=skill.name, description=skill.description))
    return found
