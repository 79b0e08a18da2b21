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
_HAS_PART = """
select exists (select from task
    join task as one on one.id in (task.id, task.parent_id, task.grandparent_id, task.root_id)
    where task.team_id = $1 and task.id = $2 and $3 in (one.creator_id, one.assignee_id))
"""


async def has_work(database: Database, *, team_id: UUID, agent_id: UUID, types: Collection[TaskType] | None) -> bool:
    """Whether a claim would find a task now."""
    wanted = None if types is None else [one.value for one in types]
    return bool(await database.fetchval(_HAS_WORK, team_id, agent_id, wanted))


async def root_of(database: Database, *, team_id: UUID, task_id: UUID) -> UUID:
    """The first task of its tree; raises NotFound."""
    statement = "select root_id from task where team_id = $1 and id = $2"
    found: UUID | None = await database.fetchval(statement, team_id, task_id)
    if found is None:
        raise NotFound("There is no such task in this team.")
    return found


async def has_part(database: Database, *, team_id: UUID, task_id: UUID, agent_id: UUID) -> bool:
    """Whether the agent gave or has the task or one above it."""
    return bool(await database.fetchval(_HAS_PART, team_id, task_id, agent_id))


async def require_runtime(session: AsyncSession, *, team_id: UUID, agent_id: UUID, runtime: AgentRuntime) -> None:
    """Raises NotFound, or Conflict for an agent that is run otherwise."""
    agent = await session.scalar(select(Agent).where(Agent.team_id == team_id, Agent.id == agent_id))
    if agent is None:
        raise NotFound("There is no such agent in this team.")
    if agent.runtime is not runtime:
        raise Conflict(f"{agent.name} is {agent.runtime.value}: Parley's workers take its tasks, nobody claims them.")
