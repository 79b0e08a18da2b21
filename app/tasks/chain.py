"""The agents above a task, and what it may use, as the database has them; what follows from that is in `delegation`."""

from __future__ import annotations

from collections.abc import Collection
from uuid import UUID

from sqlalchemy import select, text
from sqlalchemy.ext.asyncio import AsyncSession

from app.agents.models import Agent
from app.errors import NotFound
from app.ids import Prefix, to_global
from app.tasks.delegation import Authority
from app.tasks.models import Task

# From the top down. Below a parent the creator stands for the parent's assignee, who may have been replaced since.
_ABOVE = text("""
with recursive above as (
    select creator_id, assignee_id, parent_id, origin_id, 0 as step, true as assignee_counts
    from task where team_id = :team_id and id = :task_id
    union all
    select task.creator_id, task.assignee_id, task.parent_id, task.origin_id, above.step + 1, above.parent_id is null
    from task join above on task.team_id = :team_id and task.id = coalesce(above.parent_id, above.origin_id)
)
select creator_id, assignee_id, assignee_counts from above order by step desc
""")


async def chain_above(session: AsyncSession, task: Task) -> list[str]:
    """The slugs of the agents from the originating one to the task's assignee, across the consultations, sessions and
    reports that tasks above it started. An agent that works in its own session stands there once."""
    rows = await session.execute(_ABOVE, {"team_id": task.team_id, "task_id": task.id})
    chain: list[UUID] = []
    for row in rows:
        named = (row.creator_id, row.assignee_id) if row.assignee_counts else (row.creator_id,)
        chain += [agent_id for agent_id in named if agent_id is not None]
    unique = [agent_id for place, agent_id in enumerate(chain) if place == 0 or chain[place - 1] != agent_id]
    return await slugs_of(session, task.team_id, unique)


async def authority_of(session: AsyncSession, task: Task | None) -> Authority:
    if task is None:
        return Authority()
    granted = None if task.allowed_tools is None else frozenset(task.allowed_tools)
    if task.allowed_agents is None:
        return Authority(granted)
    return Authority(granted, frozenset(await slugs_of(session, task.team_id, task.allowed_agents)))


async def slugs_of(session: AsyncSession, team_id: UUID, ids: Collection[UUID]) -> list[str]:
    """In the order of the ids; raises NotFound."""
    rows = await session.execute(select(Agent.id, Agent.slug).where(Agent.team_id == team_id, Agent.id.in_(ids)))
    found = {agent_id: slug for agent_id, slug in rows}
    for one in ids:
        if one not in found:
            raise NotFound(f"There is no agent {to_global(Prefix.AGENT, one)} in this team.")
    return [found[one] for one in ids]
