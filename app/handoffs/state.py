"""System state that conditions can compare: how much each agent has to do."""

from __future__ import annotations

from uuid import UUID

from sqlalchemy import func, select
from sqlalchemy.ext.asyncio import AsyncSession

from app.agents.models import Agent, AgentStatus
from app.handoffs.variables import load_name
from app.tasks.models import Task, TaskStatus

_OPEN = (TaskStatus.PENDING, TaskStatus.IN_PROGRESS)


async def loads(session: AsyncSession, team_id: UUID) -> dict[str, int]:
    """`writer_a_load` and so on: tasks that are pending or in progress, by agent."""
    open_tasks = (
        select(Task.assignee_id, func.count().label("open"))
        .where(Task.team_id == team_id, Task.status.in_(_OPEN))
        .group_by(Task.assignee_id)
        .subquery()
    )
    rows = await session.execute(
        select(Agent.slug, func.coalesce(open_tasks.c.open, 0))
        .outerjoin(open_tasks, open_tasks.c.assignee_id == Agent.id)
        .where(Agent.team_id == team_id, Agent.status != AgentStatus.ARCHIVED)
    )
    return {load_name(slug): count for slug, count in rows}
