"""On what authority an agent starts work: a delegation, a session, a report or a consultation.

An agent that works on a task starts everything below that task: its budget pays, its limits bind, and the chain of
agents goes on from there. Outside any task its key needs a daily allowance.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from app.errors import Conflict, InvalidInput
from app.ids import Prefix, to_global
from app.tasks.chain import chain_above
from app.tasks.delegation import check_chain
from app.tasks.errors import ClaimLost
from app.tasks.locks import locked
from app.tasks.models import OPEN, Task, TaskStatus

MAX_NAMED = 5  # tasks that a refusal names


@dataclass(frozen=True, slots=True)
class Start:
    """The task that an agent works on, or the agent whose allowance pays. Neither: a person or a program starts it."""

    task_id: UUID | None = None
    claim_token: UUID | None = None
    allowance_of: UUID | None = None


BY_OTHERS = Start()


async def find_start(session: AsyncSession, *, team_id: UUID, agent_id: UUID, path: str) -> Start:
    """Where an agent's key starts work for which it names no task: below the task that the agent works on, else on its
    allowance. Raises InvalidInput when it works on several."""
    claims = select(Task.id).where(
        Task.team_id == team_id, Task.assignee_id == agent_id, Task.status == TaskStatus.IN_PROGRESS
    )
    claimed = list(await session.scalars(claims.order_by(Task.id).limit(MAX_NAMED + 1)))
    if len(claimed) > 1:
        names = ", ".join(to_global(Prefix.TASK, task_id) for task_id in claimed[:MAX_NAMED])
        more = " and more" if len(claimed) > MAX_NAMED else ""
        raise InvalidInput.of(
            path, f"is needed: the agent works on several tasks ({names}{more}). Name the one it is for"
        )
    return Start(task_id=claimed[0]) if claimed else Start(allowance_of=agent_id)


async def lock_origin(
    session: AsyncSession, *, team_id: UUID, start: Start, agent_id: UUID | None = None, in_progress: bool = True
) -> Task | None:
    """The task below which work starts; it cannot end before this transaction does. `agent_id` must be its assignee.
    Agents are locked before it. Raises ClaimLost, Conflict or NotFound."""
    if start.task_id is None:
        return None
    task, _ = await locked(session, team_id=team_id, task_id=start.task_id)
    if agent_id is not None and task.assignee_id != agent_id:
        raise Conflict("Another agent works on the task that this is for. Name a task of the agent that starts it.")
    if start.claim_token is not None and task.claim_token != start.claim_token:
        raise ClaimLost
    if task.status is not TaskStatus.IN_PROGRESS and (in_progress or task.status not in OPEN):
        raise Conflict(f"The task that this is for is {task.status.value}; only one in progress can start work.")
    return task


async def refuse_in_chain(session: AsyncSession, origin: Task | None, slugs: Iterable[str]) -> list[str]:
    """Raises CycleDetected or DelegationDepthExceeded for agents that would work below the origin; returns the chain of
    agents down to it."""
    if origin is None:
        return []
    chain = await chain_above(session, origin)
    for slug in sorted(slugs):
        check_chain(chain, slug)
    return chain


def chain_root_of(origin: Task) -> UUID:
    """The first task of the whole chain that the origin is part of."""
    return origin.chain_root_id or origin.root_id
