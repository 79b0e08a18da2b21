"""The agents above a task, and what it may use, as the database has them; what follows from that is in `delegation`."""

from __future__ import annotations

from collections.abc import Collection
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from app.agents.models import Agent
from app.errors import NotFound
from app.ids import Prefix, to_global
from app.tasks.delegation import Authority
from app.tasks.models import Task


async def chain_above(session: AsyncSession, task: Task) -> list[str]:
    """The slugs of the agents from the originating one to the task's assignee."""
    ids: list[UUID | None] = [task.assignee_id, task.creator_id]
    above = task.parent_id
    while above is not None:
        row = (await session.execute(select(Task.creator_id, Task.parent_id).where(Task.id == above))).one()
        ids.append(row.creator_id)
        above = row.parent_id
    return await slugs_of(session, task.team_id, [one for one in reversed(ids) if one is not None])


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
