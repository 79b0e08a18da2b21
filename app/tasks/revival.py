"""Gives work another chance: a task that ended runs again, goes to another agent, or is replayed from a dead letter."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from app.agents import service as agents
from app.agents.models import Agent
from app.budgets import service as budgets
from app.budgets.models import BudgetAccount
from app.config import Settings
from app.db.transaction import WakeUp, enqueue_task_after_commit, wake_after_commit
from app.errors import Conflict
from app.events.kinds import EventKind
from app.events.log import Actor
from app.ids import Prefix, to_global
from app.tasks import dead_letters, dependencies
from app.tasks.availability import refuse_unavailable
from app.tasks.chain import authority_of, chain_above
from app.tasks.delegation import check_askers, check_chain
from app.tasks.locks import locked
from app.tasks.models import (
    OPEN,
    AttemptOutcome,
    DeadLetter,
    DeadLetterState,
    Task,
    TaskDependency,
    TaskPurpose,
    TaskStatus,
)
from app.tasks.narration import tell
from app.tasks.priority import due_at
from app.tasks.requeueing import requeued, take_back
from app.tasks.retry_policy import ATTEMPTS
from app.tasks.service import Delegation, delegate, permitted_caps
from app.tasks.spec import parse_task
from app.tasks.waits import askers_of


async def retry(
    session: AsyncSession, *, team_id: UUID, task_id: UUID, settings: Settings, actor: Actor, reason: str = ""
) -> Task:
    """Run a task again that failed, timed out or was cancelled, under the same checks as a new one, or run at once
    one that waits for its next attempt. What depended on it stays failed and can be retried in its turn."""
    caps, _ = await permitted_caps(session, team_id, settings)
    await dependencies.take_turns(session, team_id)
    assignee_id = await session.scalar(select(Task.assignee_id).where(Task.team_id == team_id, Task.id == task_id))
    assignee = await agents.lock(session, team_id, assignee_id) if assignee_id else None
    task, at = await _locked_with_parent(session, team_id, task_id)
    if assignee is None or task.assignee_id != assignee.id:
        raise Conflict("The task was reassigned at this moment. Try again.")
    refuse_own_work(task)
    if task.status is TaskStatus.PENDING and task.ready_at > at:
        task.ready_at = at
    elif task.status in OPEN or task.status is TaskStatus.COMPLETED:
        raise Conflict(
            f"This task is {task.status.name}; only one that failed, timed out or was cancelled can be retried."
        )
    else:
        await _refuse_in_chain(session, task, assignee)
        await refuse_unavailable(session, assignee)
        task.waiting_for = await _still_waits_for(session, task)
        await budgets.reopen(session, account_id=task.budget_id, caps=caps)
        await dead_letters.resolve_of(session, task, note=reason, actor=actor)
        task.status, task.finished_at, task.ready_at = TaskStatus.PENDING, None, at
        task.error_code = task.error_message = None
        task.attempts_allowed, task.waits = task.attempts_made + ATTEMPTS, 0
        task.due_at = due_at(at, task.priority)
    requeued(session, task, actor, reason=reason)
    return task


def refuse_own_work(task: Task) -> None:
    if task.purpose is not TaskPurpose.DELEGATION:
        raise Conflict(f"This task is a {task.purpose.value}: whoever ordered it decides on it, not this mutation.")


async def _refuse_in_chain(session: AsyncSession, task: Task, assignee: Agent) -> None:
    """As a new task for this agent would be refused; the task above may have gone to another one meanwhile. Raises
    CycleDetected or AuthorityExceeded."""
    parent = await session.get(Task, task.parent_id) if task.parent_id else None
    chain = await chain_above(session, parent) if parent else (await chain_above(session, task))[:-1]
    check_chain(chain, assignee.slug)
    if parent is not None:
        check_askers(await askers_of(session, team_id=task.team_id, root_id=task.root_id), chain, assignee.slug)
    (await authority_of(session, parent)).narrowed(tools=None, agents=None, assignee=assignee.slug)


async def reassign(
    session: AsyncSession, *, team_id: UUID, task_id: UUID, assignee_id: UUID, actor: Actor, reason: str = ""
) -> Task:
    """Give an open task to another agent. If it was being worked on, that claim counts no more."""
    assignee = await agents.lock(session, team_id, assignee_id)
    task, at = await locked(session, team_id=team_id, task_id=task_id)
    refuse_own_work(task)
    if task.status not in OPEN:
        raise Conflict(f"This task has ended ({task.status.name}). Retry it, or delegate it anew.")
    if task.assignee_id == assignee.id:
        raise Conflict(f"{assignee.name} has this task already.")
    await _refuse_in_chain(session, task, assignee)
    await refuse_unavailable(session, assignee)
    if task.status is TaskStatus.IN_PROGRESS:
        await take_back(session, task, at=at, actor=actor, outcome=AttemptOutcome.RELEASED, failure=None)
    before, task.assignee_id, task.ready_at = task.assignee_id, assignee.id, at
    task.attempts_allowed, task.waits = task.attempts_made + ATTEMPTS, 0
    if task.group_id is not None:
        task.picked_because = f"It was reassigned to {assignee.name} by {actor.name}."
    tell(
        session,
        EventKind.TASK_REASSIGNED,
        task,
        actor,
        former_assignee_id=before,
        fromAgentId=to_global(Prefix.AGENT, before),
        reason=reason,
    )
    wake_after_commit(session, WakeUp.JOBS)  # whoever runs it has to stop
    enqueue_task_after_commit(session, task.id)
    return task


async def replay(
    session: AsyncSession,
    *,
    team_id: UUID,
    letter_id: UUID,
    edits: dict[str, Any],
    assignee_id: UUID | None,
    contract: str | None = None,
    contract_input: dict[str, Any] | None = None,
    settings: Settings,
    actor: Actor,
    note: str = "",
) -> tuple[DeadLetter, Task]:
    """A new task like the dead one, changed by the edits. It stays below the same parent while that is in progress.

    It keeps the version of its contract, unless a contract is named: then the version of that one that counts now.
    """
    original = await session.scalar(
        select(Task)
        .join(DeadLetter, DeadLetter.task_id == Task.id)
        .where(DeadLetter.team_id == team_id, DeadLetter.id == letter_id)
    )
    task = None
    if original is not None:
        await dead_letters.require_open(session, letter_id)
        running = select(Task.id).where(Task.id == original.parent_id, Task.status == TaskStatus.IN_PROGRESS)
        parent_id = await session.scalar(running) if original.parent_id else None
        wanted = Delegation(
            spec=parse_task(await _fields(session, original) | edits),
            assignee_id=assignee_id or original.assignee_id,
            creator_id=None if parent_id else original.creator_id,
            parent_id=parent_id,
            depends_on=frozenset(await _needed(session, original)),
            agents=None if original.allowed_agents is None else frozenset(original.allowed_agents),
            contract=contract,
            contract_id=original.contract_id,
            contract_input=original.contract_input if contract_input is None else contract_input,
            again=True,
            conversation_id=original.conversation_id,
            redacts=original.redacts,
            directives=original.obeys_directives and "instructions" not in edits,
        )
        task = await delegate(session, team_id=team_id, wanted=wanted, settings=settings, actor=actor)
    letter, dead = await dead_letters.lock_open(session, team_id=team_id, letter_id=letter_id)
    assert task is not None
    await dead_letters.resolve(
        session, letter, dead, DeadLetterState.REPLAYED, actor=actor, note=note, replay_id=task.id
    )
    return letter, task


async def _needed(session: AsyncSession, task: Task) -> list[UUID]:
    """What it builds on, as far as that completed."""
    needs = select(Task.id).join(TaskDependency, TaskDependency.needs_id == Task.id)
    mine = needs.where(TaskDependency.task_id == task.id, Task.status == TaskStatus.COMPLETED)
    return list(await session.scalars(mine))


async def _fields(session: AsyncSession, task: Task) -> dict[str, Any]:
    same = ("type", "title", "instructions", "context", "expected_output", "priority", "max_tokens", "max_tool_calls")
    return {
        **{name: getattr(task, name) for name in same},
        "input_artifacts": task.input_artifacts,
        "timeout_seconds": task.timeout_s,
        "model_tier": task.model_tier,
        "tools": task.allowed_tools,
        "budget_usd": await session.scalar(select(BudgetAccount.cap).where(BudgetAccount.id == task.budget_id)),
    }


async def _locked_with_parent(session: AsyncSession, team_id: UUID, task_id: UUID) -> tuple[Task, datetime]:
    """The task, and its parent shared, in the order of their ids; a parent that has ended takes no work back."""
    parent_id = await session.scalar(select(Task.parent_id).where(Task.team_id == team_id, Task.id == task_id))
    if parent_id is not None:
        statement = select(Task.status).where(Task.id == parent_id).with_for_update(read=True)
        if await session.scalar(statement) is not TaskStatus.IN_PROGRESS:
            raise Conflict("The task above has ended, so this one cannot run again. Delegate it anew.")
    return await locked(session, team_id=team_id, task_id=task_id)


async def _still_waits_for(session: AsyncSession, task: Task) -> int:
    """How many dependencies are open; raises Conflict for one that failed, CycleDetected for a circle of waits."""
    statement = (
        select(Task)
        .join(TaskDependency, TaskDependency.needs_id == Task.id)
        .where(TaskDependency.task_id == task.id)
        .order_by(Task.id)
        .with_for_update(of=Task, read=True)
    )
    needed = list(await session.scalars(statement.execution_options(populate_existing=True)))
    for one in needed:
        if one.status not in OPEN and one.status is not TaskStatus.COMPLETED:
            raise Conflict(f"It depends on '{one.title}', which is {one.status.value}. Retry that one first.")
    still = [one.id for one in needed if one.status in OPEN]
    if still and task.parent_id:
        await dependencies.refuse_wait_cycle(
            session, team_id=task.team_id, title=task.title, needs=still, parent_id=task.parent_id
        )
    return len(still)
