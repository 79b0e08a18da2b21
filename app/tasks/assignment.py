"""Orders an agent's own work, and calls it off: a reply, a stage, a report, an answer. Parley asks for it, not another
agent."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from sqlalchemy import func, select
from sqlalchemy.ext.asyncio import AsyncSession

from app.agents import service as agents
from app.agents.models import Agent
from app.budgets import service as budgets
from app.budgets.caps import caps_of
from app.config import Settings
from app.contracts import service as contracts
from app.db.transaction import enqueue_task_after_commit
from app.events.kinds import EventKind
from app.events.log import Actor
from app.ids import new_id
from app.redaction import Redaction
from app.tasks.availability import refuse_inactive
from app.tasks.ending import end
from app.tasks.failures import Failure
from app.tasks.funding import Payer, open_budget
from app.tasks.locks import lock_all, locked
from app.tasks.models import OPEN, Task, TaskPurpose, TaskStatus
from app.tasks.narration import tell
from app.tasks.priority import due_at
from app.tasks.retry_policy import FailureCode
from app.tasks.spec import TaskSpec, row_of
from app.tasks.starts import chain_root_of
from app.teams.models import Team


@dataclass(frozen=True, slots=True)
class Assignment:
    """`budget_id` is the account that funds it: of its session, or of the task that it was started from, `origin`;
    without one the team's day does, on the allowance of `granted_to` if that is given. Its output must fit the schema
    or the contract, where there is one."""

    purpose: TaskPurpose
    spec: TaskSpec
    assignee_id: UUID
    on_behalf_of: str
    budget_id: UUID | None = None
    agents: Collection[UUID] | None = None
    collaboration_id: UUID | None = None
    output_schema: dict[str, Any] | None = None
    contract: str | None = None
    contract_input: dict[str, Any] | None = None
    conversation_id: UUID | None = None
    redacts: Redaction | None = None
    origin: Task | None = None
    granted_to: Agent | None = None
    directives: bool = False
    input_hash: bytes | None = None


async def assign(session: AsyncSession, *, team_id: UUID, wanted: Assignment, settings: Settings, actor: Actor) -> Task:
    """Raises AgentUnavailable, BudgetExhausted, AllowanceExceeded or NotFound; then nothing is created and nothing
    reserved.

    Whoever orders it has checked the flags and rights of what it is for. However the task ends, a follow-up
    job tells them.
    """
    mine = select(Team).where(Team.id == team_id).with_for_update(read=True)
    team = (await session.scalars(mine.execution_options(populate_existing=True))).one()
    assignee = await agents.lock(session, team_id, wanted.assignee_id)
    refuse_inactive(assignee)
    task = row_of(wanted.spec, new_id(), team_id)
    task.purpose, task.depth, task.root_id = wanted.purpose, 0, task.id
    task.assignee_id, task.on_behalf_of = assignee.id, wanted.on_behalf_of
    task.collaboration_id, task.output_schema = wanted.collaboration_id, wanted.output_schema
    if wanted.contract is not None:
        contract = await contracts.find(session, team_id=team_id, name=wanted.contract)
        await contracts.require_input(contract, wanted.contract_input)
        task.contract_id, task.contract_input = contract.id, wanted.contract_input
    task.conversation_id, task.redacts = wanted.conversation_id, wanted.redacts
    task.obeys_directives, task.input_hash = wanted.directives, wanted.input_hash
    if wanted.origin is not None:
        task.origin_id, task.chain_root_id = wanted.origin.id, chain_root_of(wanted.origin)
    payer = Payer(wanted.budget_id, wanted.granted_to)
    task.budget_id, unfunded = await open_budget(
        session,
        team_id=team.id,
        payer=payer,
        amount=wanted.spec.budget_usd,
        caps=caps_of(team, settings),
        settings=settings,
    )
    if unfunded is not None:
        await budgets.fund(session, unfunded)
    task.allowed_tools = None if wanted.spec.tools is None else sorted(wanted.spec.tools)
    task.allowed_agents = None if wanted.agents is None else sorted(wanted.agents)
    task.due_at = due_at(await session.scalar(select(func.now())), wanted.spec.priority)
    session.add(task)
    await session.flush()
    told: dict[str, Any] = {
        "title": task.title,
        "type": task.type,
        "priority": task.priority,
        "purpose": task.purpose,
    }
    tell(session, EventKind.TASK_CREATED, task, actor, **told)
    enqueue_task_after_commit(session, task.id)
    return task


async def call_off(
    session: AsyncSession, *, team_id: UUID, task_ids: Collection[UUID], reason: str, actor: Actor
) -> None:
    """Cancel what is still open of an agent's own work, and all below it."""
    for task_id in await _hold_trees(session, team_id, task_ids):
        task, at = await locked(session, team_id=team_id, task_id=task_id)
        if task.status in OPEN:
            failure = Failure(FailureCode.CANCELLED, reason)
            await end(session, task, TaskStatus.CANCELLED, at=at, actor=actor, failure=failure)


async def _hold_trees(session: AsyncSession, team_id: UUID, roots: Collection[UUID]) -> list[UUID]:
    """All tasks before the first budget. Until nothing new is found: one may have delegated before it was held."""
    mine = select(Task.id).where(Task.team_id == team_id, Task.root_id.in_(roots), Task.status.in_(OPEN))
    held: set[UUID] = set()
    while new := set(await session.scalars(mine)) - held:
        await lock_all(session, new)
        held |= new
    return sorted(roots)
