"""Delegates tasks: everything that can be refused is refused here, in the transaction that would create the task.

Locks are taken in one order: the team's row, its turn for waits, the assignee's row, tasks by id, budget accounts
upwards.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

from sqlalchemy import func, select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncSession

from app.agents import service as agents
from app.agents.models import Agent, AgentStatus
from app.budgets import service as budgets
from app.budgets.service import TeamCaps, caps_of
from app.config import Settings
from app.contracts import service as contracts
from app.contracts.documents import invalid
from app.contracts.models import Contract
from app.db.transaction import Bell, remember_bell
from app.errors import Conflict, InvalidInput, NotFound
from app.events.kinds import EventKind
from app.events.log import Actor
from app.ids import Prefix, new_id, to_global
from app.tasks import dependencies
from app.tasks.delegation import (
    HEAD_START,
    MAX_DEPENDENCIES,
    MAX_OPEN_TASKS,
    Authority,
    TaskSpec,
    check_chain,
)
from app.tasks.errors import AgentUnavailable, ClaimLost, UnavailableReason
from app.tasks.models import OPEN, Task, TaskDependency, TaskPriority, TaskStatus
from app.tasks.narration import tell
from app.tasks.oscillation import check_repeats, fingerprint
from app.tasks.retry_policy import ATTEMPTS, FailureCode
from app.teams.flags import FeatureFlag, require
from app.teams.models import Team


@dataclass(frozen=True, slots=True)
class Delegation:
    """Who asks whom for what. Below a parent the creator is whoever works on it."""

    spec: TaskSpec
    assignee_id: UUID
    creator_id: UUID | None = None
    parent_id: UUID | None = None
    depends_on: frozenset[UUID] = frozenset()
    agents: frozenset[UUID] | None = None
    claim_token: UUID | None = None
    contract: str | None = None
    contract_id: UUID | None = None  # a version that is kept; the name, where given, counts
    contract_input: Any = None


async def delegate(
    session: AsyncSession, *, team_id: UUID, wanted: Delegation, settings: Settings, actor: Actor
) -> Task:
    """Raises FeatureDisabled, CycleDetected, DelegationDepthExceeded, OscillationDetected, AgentUnavailable,
    AuthorityExceeded, BudgetExhausted, ClaimLost, NotFound, Conflict or InvalidInput; then nothing is created and
    nothing reserved."""
    caps = await permitted_caps(session, team_id, settings)
    contract = await _contract(session, team_id, wanted)
    if wanted.depends_on and wanted.parent_id:
        await dependencies.take_turns(session, team_id)
    assignee = await agents.lock(session, team_id, wanted.assignee_id)
    parent, needed = await _lock_named(session, team_id, wanted)
    creator_id = _creator(wanted, parent)
    chain = await chain_above(session, parent) if parent else await _slugs(session, team_id, [creator_id])
    depth = check_chain(chain, assignee.slug)
    input_hash = _fingerprint(wanted)
    if parent is not None:
        await _refuse_oscillation(session, parent, assignee, input_hash, chain)
    authority = await _authority(session, team_id, wanted, parent, assignee)
    await refuse_unavailable(session, assignee)
    if parent and needed:
        await dependencies.refuse_wait_cycle(
            session, team_id=team_id, title=wanted.spec.title, needs=wanted.depends_on, parent_id=parent.id
        )
    budget_id = await _open_budget(session, team_id, wanted.spec.budget_usd, parent, caps, settings)
    task = _row(wanted, team_id, creator_id, parent, depth, actor)
    task.budget_id, task.waiting_for = budget_id, sum(one.status in OPEN for one in needed)
    task.contract_id, task.contract_input = contract.id if contract else None, wanted.contract_input
    task.input_hash = input_hash
    task.allowed_tools = None if authority.tools is None else sorted(authority.tools)
    if wanted.agents is not None:
        task.allowed_agents = sorted(wanted.agents)
    elif parent is not None:
        task.allowed_agents = parent.allowed_agents
    task.due_at = due_at(await session.scalar(select(func.now())), wanted.spec.priority)
    session.add(task)
    await session.flush()
    await _insert_dependencies(session, task, wanted.depends_on)
    told: dict[str, Any] = {"title": task.title, "type": task.type, "priority": task.priority}
    if contract is not None:
        told["contract"] = {"name": contract.name, "version": contract.version}
    tell(session, EventKind.TASK_CREATED, task, actor, creatorId=to_global(Prefix.AGENT, creator_id), **told)
    remember_bell(session, Bell.WORK)
    return task


async def permitted_caps(session: AsyncSession, team_id: UUID, settings: Settings) -> TeamCaps:
    """What the team may spend; raises FeatureDisabled where it may not delegate at all.

    Its row is shared: who changes its budgets waits for the tasks that are being made under the old ones.
    """
    mine = select(Team).where(Team.id == team_id).with_for_update(read=True)
    team = (await session.scalars(mine.execution_options(populate_existing=True))).one()
    require(FeatureFlag.TASK_DELEGATION, settings.flags, team.flags)
    return caps_of(team, settings)


async def _contract(session: AsyncSession, team_id: UUID, wanted: Delegation) -> Contract | None:
    """The contract that the task is to keep to; raises NotFound, or InvalidInput for an input that does not fit."""
    if wanted.contract is not None:
        contract = await contracts.find(session, team_id=team_id, name=wanted.contract)
    elif wanted.contract_id is not None:
        contract = await contracts.by_id(session, wanted.contract_id)
    elif wanted.contract_input is not None:
        raise invalid(contracts.INPUT, "needs a contract that says what it is")
    else:
        return None
    await contracts.require_input(contract, wanted.contract_input)
    return contract


def _fingerprint(wanted: Delegation) -> bytes:
    spec = wanted.spec
    return fingerprint(
        instructions=spec.instructions,
        context=spec.context,
        artifacts=spec.input_artifacts,
        contract_input=wanted.contract_input,
    )


async def _refuse_oscillation(
    session: AsyncSession, parent: Task, assignee: Agent, input_hash: bytes, chain: Sequence[str]
) -> None:
    """Counts the tasks under the root, but not those that were cancelled because the attempt that asked was lost: its
    next one has to ask again. The assignee's row is held, so that of two that ask the same at once the second counts
    the first."""
    asked_before = select(func.count()).where(
        Task.team_id == parent.team_id,
        Task.root_id == parent.root_id,
        Task.creator_id == parent.assignee_id,
        Task.assignee_id == assignee.id,
        Task.input_hash == input_hash,
        func.coalesce(Task.error_code, "") != FailureCode.PARENT_ENDED,
    )
    check_repeats(await session.scalar(asked_before) or 0, [*chain, assignee.slug])


async def refuse_unavailable(session: AsyncSession, assignee: Agent) -> None:
    """Raises AgentUnavailable. The assignee's row is held, so of many delegations at once each counts those before."""
    if assignee.status is not AgentStatus.ACTIVE:
        reason = UnavailableReason(assignee.status.value)
        raise AgentUnavailable(f"{assignee.name} is {reason.value} and takes no new tasks.", reason)
    mine = select(func.count()).where(Task.assignee_id == assignee.id, Task.status.in_(OPEN))
    if (await session.scalar(mine) or 0) >= MAX_OPEN_TASKS:
        raise AgentUnavailable(
            f"{assignee.name} has {MAX_OPEN_TASKS} open tasks, the most at a time. Wait until one ends or ask another.",
            UnavailableReason.AT_CAPACITY,
        )


async def chain_above(session: AsyncSession, task: Task) -> list[str]:
    """The slugs of the agents from the originating one to the task's assignee."""
    ids = [task.assignee_id, task.creator_id]
    above = task.parent_id
    while above is not None:
        row = (await session.execute(select(Task.creator_id, Task.parent_id).where(Task.id == above))).one()
        ids.append(row.creator_id)
        above = row.parent_id
    return await _slugs(session, task.team_id, ids[::-1])


def due_at(moment: datetime | None, priority: TaskPriority) -> datetime:
    assert moment is not None
    return moment - HEAD_START[priority]


async def authority_of(session: AsyncSession, task: Task | None) -> Authority:
    if task is None:
        return Authority()
    tools = None if task.allowed_tools is None else frozenset(task.allowed_tools)
    if task.allowed_agents is None:
        return Authority(tools)
    return Authority(tools, frozenset(await _slugs(session, task.team_id, task.allowed_agents)))


async def _lock_named(session: AsyncSession, team_id: UUID, wanted: Delegation) -> tuple[Task | None, list[Task]]:
    """The parent and the dependencies, locked: they cannot end before this transaction does. Not only shared, because
    a tool call of the parent is recorded after this, and two who share a lock cannot both have it alone."""
    if len(wanted.depends_on) > MAX_DEPENDENCIES:
        raise InvalidInput.of(
            "dependsOn", f"names {len(wanted.depends_on)} tasks; at most {MAX_DEPENDENCIES} are allowed"
        )
    named = set(wanted.depends_on) | ({wanted.parent_id} if wanted.parent_id else set())
    if not named:
        return None, []
    statement = select(Task).where(Task.team_id == team_id, Task.id.in_(named)).order_by(Task.id)
    rows = await session.scalars(statement.with_for_update(key_share=True).execution_options(populate_existing=True))
    found = {task.id: task for task in rows}
    if len(found) < len(named):
        missing = "parentId" if wanted.parent_id and wanted.parent_id not in found else "dependsOn"
        raise NotFound(f"There is no such task in this team ({missing}).")
    needed = [found[one] for one in wanted.depends_on]
    for one in needed:
        if one.status not in OPEN and one.status is not TaskStatus.COMPLETED:
            raise Conflict(f"'{one.title}' is {one.status.value}, so a task that depends on it could never start.")
    parent = found[wanted.parent_id] if wanted.parent_id else None
    if parent is not None:
        _check_parent(parent, wanted)
    return parent, needed


def _check_parent(parent: Task, wanted: Delegation) -> None:
    if wanted.claim_token is not None and wanted.claim_token != parent.claim_token:
        raise ClaimLost
    if parent.status is not TaskStatus.IN_PROGRESS:
        raise Conflict(f"The task above is {parent.status.value}; only one in progress can delegate.")


def _creator(wanted: Delegation, parent: Task | None) -> UUID:
    creator_id = wanted.creator_id or (parent.assignee_id if parent else None)
    if creator_id is None:
        raise InvalidInput.of("creatorId", "is needed for a task without a parent")
    if parent is not None and creator_id != parent.assignee_id:
        raise InvalidInput.of("creatorId", "must be the agent that works on the parent, or be left out")
    return creator_id


async def _authority(
    session: AsyncSession, team_id: UUID, wanted: Delegation, parent: Task | None, assignee: Agent
) -> Authority:
    granted = await authority_of(session, parent)
    asked = None if wanted.agents is None else frozenset(await _slugs(session, team_id, list(wanted.agents)))
    tools = None if wanted.spec.tools is None else frozenset(wanted.spec.tools)
    return granted.narrowed(tools=tools, agents=asked, assignee=assignee.slug)


async def _slugs(session: AsyncSession, team_id: UUID, ids: Collection[UUID]) -> list[str]:
    rows = await session.execute(select(Agent.id, Agent.slug).where(Agent.team_id == team_id, Agent.id.in_(ids)))
    found = {agent_id: slug for agent_id, slug in rows}
    if len(found) < len(set(ids)):
        raise NotFound("There is no such agent in this team.")
    return [found[one] for one in ids]


async def _open_budget(
    session: AsyncSession,
    team_id: UUID,
    amount: Decimal | None,
    parent: Task | None,
    caps: TeamCaps,
    settings: Settings,
) -> UUID:
    usual = settings.task_budget_usd
    if parent is None:
        return await budgets.open_for_team(session, team_id=team_id, caps=caps, amount=amount or usual)
    return await budgets.open_below(session, team_id=team_id, parent_id=parent.budget_id, amount=amount, usual=usual)


def _row(wanted: Delegation, team_id: UUID, creator_id: UUID, parent: Task | None, depth: int, actor: Actor) -> Task:
    spec, task_id = wanted.spec, new_id()
    return Task(
        id=task_id,
        team_id=team_id,
        creator_id=creator_id,
        assignee_id=wanted.assignee_id,
        on_behalf_of=parent.on_behalf_of if parent else actor.name,
        parent_id=parent.id if parent else None,
        root_id=parent.root_id if parent else task_id,
        depth=depth,
        type=spec.type,
        title=spec.title,
        instructions=spec.instructions,
        context=spec.context,
        expected_output=spec.expected_output,
        input_artifacts=list(spec.input_artifacts),
        priority=spec.priority,
        max_tokens=spec.max_tokens,
        max_tool_calls=spec.max_tool_calls,
        timeout_s=spec.timeout_seconds,
        model_tier=spec.model_tier,
        status=TaskStatus.PENDING,
        attempts_allowed=ATTEMPTS,
    )


async def _insert_dependencies(session: AsyncSession, task: Task, needs: Collection[UUID]) -> None:
    rows = [{"team_id": task.team_id, "task_id": task.id, "needs_id": one} for one in sorted(needs)]
    if rows:
        await session.execute(insert(TaskDependency), rows)
