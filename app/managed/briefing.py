"""Reads what a managed agent has to know before it starts: who it is, its task, what it builds on, what it may use."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from app.agents.models import Agent
from app.agents.models import Skill as SkillRow
from app.budgets import service as budgets
from app.config import Settings
from app.contracts import service as contracts
from app.inference.prompt import Assignment, Identity, Skill, Source
from app.inference.request import Limits
from app.tasks.models import Task, TaskDependency
from app.teams.flags import FeatureFlag, is_on
from app.teams.models import Team

MAX_SOURCE = 20_000


@dataclass(frozen=True, slots=True)
class Briefing:
    identity: Identity
    assignment: Assignment
    limits: Limits
    tier: int
    may_delegate: bool
    output_schema: dict[str, Any] | None = None


async def read(session: AsyncSession, task: Task, settings: Settings) -> Briefing:
    row = await session.execute(
        select(Agent, Team).join(Team, Team.id == Agent.team_id).where(Agent.id == task.assignee_id)
    )
    agent, team = row.one()
    skills = await session.scalars(select(SkillRow).where(SkillRow.agent_id == agent.id).order_by(SkillRow.position))
    creator = await session.scalar(select(Agent.name).where(Agent.id == task.creator_id))
    contract = await contracts.by_id(session, task.contract_id) if task.contract_id else None
    return Briefing(
        identity=Identity(
            name=agent.name,
            type=agent.custom_type or agent.type.value,
            team=team.name,
            role=agent.role,
            tagline=agent.tagline,
            personality=agent.personality,
            formality=agent.formality,
            humor=agent.humor,
            technical_depth=agent.technical_depth,
            skills=[Skill(skill.name, skill.description) for skill in skills],
        ),
        assignment=Assignment(
            type=task.type.value,
            title=task.title,
            instructions=task.instructions,
            context=task.context,
            expected_output=task.expected_output,
            sources=await _sources(session, task),
            given=task.contract_input,
            requested_by=creator or "",
        ),
        limits=Limits(
            max_tokens=task.max_tokens,
            max_tool_calls=task.max_tool_calls,
            max_cost_usd=await budgets.left(session, task.budget_id),
        ),
        tier=agent.model_tier if task.model_tier is None else task.model_tier,
        may_delegate=is_on(FeatureFlag.TASK_DELEGATION, settings.flags, team.flags),
        output_schema=contract.output_schema if contract else None,
    )


async def _sources(session: AsyncSession, task: Task) -> list[Source]:
    """The results of the tasks that it depended on, then the references it was given."""
    needed = await session.scalars(
        select(Task)
        .join(TaskDependency, TaskDependency.needs_id == Task.id)
        .where(TaskDependency.task_id == task.id)
        .order_by(Task.id)
    )
    results = [Source(f"the task '{one.title}'", (one.result or "")[:MAX_SOURCE]) for one in needed]
    return [*results, *(Source("a reference", reference) for reference in task.input_artifacts)]
