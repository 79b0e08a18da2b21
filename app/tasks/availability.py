"""Whether an agent takes part in work at all, and has room for more."""

from __future__ import annotations

from uuid import UUID

from sqlalchemy import func, select
from sqlalchemy.ext.asyncio import AsyncSession

from app.agents.models import Agent, AgentStatus
from app.errors import QuotaExceeded
from app.tasks.errors import AgentUnavailable, UnavailableReason
from app.tasks.models import OPEN, Task, TaskPurpose

MAX_OPEN_TASKS = 5


async def refuse_unavailable(session: AsyncSession, assignee: Agent) -> None:
    """Raises AgentUnavailable. The assignee's row is held, so of many delegations at once each counts those before.

    Its own work does not count: what Parley orders waits for its turn instead."""
    refuse_inactive(assignee)
    given = (Task.assignee_id == assignee.id) & (Task.purpose == TaskPurpose.DELEGATION)
    mine = select(func.count()).where(given, Task.status.in_(OPEN))
    if (await session.scalar(mine) or 0) >= MAX_OPEN_TASKS:
        raise AgentUnavailable(
            f"{assignee.name} has {MAX_OPEN_TASKS} open tasks, the most at a time. Wait until one ends or ask another.",
            UnavailableReason.AT_CAPACITY,
        )


def refuse_inactive(assignee: Agent) -> None:
    if assignee.status is not AgentStatus.ACTIVE:
        reason = UnavailableReason(assignee.status.value)
        instead = "Resume it, or ask another." if assignee.status is AgentStatus.PAUSED else "Ask another."
        raise AgentUnavailable(f"{assignee.name} is {reason.value} and takes no new tasks. {instead}", reason)


async def refuse_first_task(session: AsyncSession, team_id: UUID, creator_id: UUID, *, limit: int) -> None:
    """Whoever begins a tree of tasks: an agent that was stopped gives no work either, and one with many open trees no
    more. Raises AgentUnavailable or QuotaExceeded."""
    first = (Task.creator_id == creator_id) & Task.parent_id.is_(None) & Task.status.in_(OPEN)
    open_tasks = select(func.count()).select_from(select(Task.id).where(first).limit(limit).subquery())
    named = select(Agent, open_tasks.scalar_subquery()).where(Agent.team_id == team_id, Agent.id == creator_id)
    row = (await session.execute(named)).one_or_none()
    if row is None:
        return  # whoever reads the chain of agents refuses it
    creator, count = row
    if creator.status is not AgentStatus.ACTIVE:
        reason = UnavailableReason(creator.status.value)
        raise AgentUnavailable(f"{creator.name} is {reason.value} and delegates nothing. Name another creator.", reason)
    if count >= limit:
        raise QuotaExceeded(
            f"{creator.name} has {count:,} open tasks without a parent",
            limit=limit,
            setting="PARLEY_FIRST_TASKS_PER_SENDER",
            instead="Wait until some have ended, cancel some, or delegate below a task.",
        )
