"""What whoever works on a task, or ordered it, does to it: one function each, under the task's row lock, fenced by the
claim where one is due. How it is taken is in `claiming`, how it goes back in `requeueing`, what its end entails in
`ending`.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from app.agents.models import Agent, AgentStatus
from app.attention import service as attention
from app.budgets import service as budgets
from app.errors import Conflict
from app.events.kinds import EventKind
from app.events.log import Actor
from app.tasks.claiming import LEASE_S, claim_locked
from app.tasks.completion import Completion, LockedRun, complete_one
from app.tasks.ending import end
from app.tasks.failures import NOTHING, Failure, Usage
from app.tasks.locks import held, locked, not_yours
from app.tasks.models import OPEN, Task, TaskStatus
from app.tasks.narration import tell, used
from app.tasks.outputs import Checked
from app.tasks.redacting import without_secrets
from app.tasks.requeueing import fail_attempt, stopped_by_limits
from app.tasks.retry_policy import FailureCode


async def heartbeat(
    session: AsyncSession,
    *,
    team_id: UUID,
    task_id: UUID,
    claim_token: UUID,
    lease_s: int,
    actor: Actor,
    progress: str | None = None,
    usage: Usage = NOTHING,
    agent_id: UUID | None = None,
) -> Task:
    """Extend the lease; keep progress and usage. A task past its time or limits ends here, as the answer shows."""
    task, attempt, at = await held(
        session, team_id=team_id, task_id=task_id, claim_token=claim_token, agent_id=agent_id
    )
    news = progress is not None and without_secrets(task, progress) != task.progress
    if progress is not None:
        task.progress = without_secrets(task, progress)
    stopped, cost = await stopped_by_limits(session, task, attempt, usage, at, actor)
    if stopped:
        return task
    task.lease_until = at + timedelta(seconds=lease_s)
    if cost:
        await session.flush()
        await budgets.charge(session, task.budget_id, cost)
    if news:
        tell(session, EventKind.TASK_PROGRESSED, task, actor, progress=task.progress, **used(task))
    return task


async def complete(
    session: AsyncSession,
    *,
    team_id: UUID,
    task_id: UUID,
    claim_token: UUID,
    result: str,
    actor: Actor,
    output: dict[str, Any] | None = None,
    artifacts: Sequence[str] = (),
    usage: Usage = NOTHING,
    agent_id: UUID | None = None,
    checked: Checked | None = None,
) -> Task:
    """End with a result. An output that does not fit the task's contract is a failed attempt, as the answer shows.
    `checked` is what was found of it before; without that it is checked here."""
    task, attempt, at = await held(
        session, team_id=team_id, task_id=task_id, claim_token=claim_token, agent_id=agent_id
    )
    completion = Completion(claim_token, actor, result, output, artifacts, usage, checked)
    await complete_one(session, LockedRun(task, attempt, at), completion)
    return task


async def submit(
    session: AsyncSession,
    *,
    team_id: UUID,
    task_id: UUID,
    result: str,
    output: dict[str, Any] | None,
    usage: Usage,
    actor: Actor,
) -> Task:
    """Take an agent's own task up, unless that was done, and complete it: nobody need answer what it waited for. Raises
    Conflict for one that has ended, or whose agent is not to work now."""
    task, _ = await locked(session, team_id=team_id, task_id=task_id)
    agent = (await session.scalars(select(Agent).where(Agent.id == task.assignee_id))).one()
    if task.status not in OPEN:
        raise Conflict(f"This task has already ended ({task.status.name}).")
    if agent.status is not AgentStatus.ACTIVE:
        raise Conflict(f"{agent.name} is {agent.status.value} and can answer when it is active again.")
    if task.status is TaskStatus.PENDING:
        if task.waiting_for:
            await attention.withdraw_of_task(session, task.id, actor=actor)
            task.waiting_for = 0
        await session.flush()
        await claim_locked(session, task.id, lease_s=LEASE_S[0], actor=actor)
    assert task.claim_token is not None
    return await complete(
        session,
        team_id=team_id,
        task_id=task_id,
        claim_token=task.claim_token,
        result=result,
        output=output,
        usage=usage,
        actor=actor,
    )


async def fail(
    session: AsyncSession,
    *,
    team_id: UUID,
    task_id: UUID,
    claim_token: UUID,
    failure: Failure,
    actor: Actor,
    usage: Usage = NOTHING,
    agent_id: UUID | None = None,
) -> Task:
    """An attempt failed: tried again after a wait when that may help, else a dead letter."""
    task, attempt, at = await held(
        session, team_id=team_id, task_id=task_id, claim_token=claim_token, agent_id=agent_id
    )
    stopped, cost = await stopped_by_limits(session, task, attempt, usage, at, actor)
    if not stopped:
        await fail_attempt(session, task, failure, at=at, actor=actor, cost=cost)
    return task


async def cancel(
    session: AsyncSession, *, team_id: UUID, task_id: UUID, reason: str, actor: Actor, agent_id: UUID | None = None
) -> Task:
    """Stop an open task and all open work below it. An agent may cancel only what it has delegated itself."""
    task, at = await locked(session, team_id=team_id, task_id=task_id)
    if agent_id is not None and task.creator_id != agent_id:
        raise not_yours()
    if task.status not in OPEN:
        raise Conflict(f"This task has already ended ({task.status.name}).")
    failure = Failure(FailureCode.CANCELLED, reason or "It was cancelled.")
    await end(session, task, TaskStatus.CANCELLED, at=at, actor=actor, failure=failure)
    return task
