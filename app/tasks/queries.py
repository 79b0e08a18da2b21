"""Reads that the work on tasks needs."""

from __future__ import annotations

from collections.abc import Collection
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from app.agents.models import Agent, AgentRuntime
from app.db.engine import Database
from app.errors import Conflict, NotFound
from app.tasks.models import TaskType

_HAS_WORK = """
select exists (select from task join agent on agent.id = task.assignee_id
    where task.team_id = $1 and task.assignee_id = $2 and task.status = 'pending' and task.waiting_for = 0
        and task.ready_at <= now() and agent.status = 'active' and ($3::text[] is null or task.type = any($3)))
"""


async def has_work(database: Database, *, team_id: UUID, agent_id: UUID, types: Collection[TaskType] | None) -> bool:
    """Whether a claim would find a task now."""
    wanted = None if types is None else [one.value for one in types]
    return bool(await database.fetchval(_HAS_WORK, team_id, agent_id, wanted))


async def require_runtime(session: AsyncSession, *, team_id: UUID, agent_id: UUID, runtime: AgentRuntime) -> None:
    """Raises NotFound, or Conflict for an agent that is run otherwise."""
    agent = await session.scalar(select(Agent).where(Agent.team_id == team_id, Agent.id == agent_id))
    if agent is None:
        raise NotFound("There is no such agent in this team.")
    if agent.runtime is not runtime:
        raise Conflict(f"{agent.name} is {agent.runtime.value}: its tasks are not claimed over the API.")
