"""Delegates tasks: everything that can be refused is refused here, in the transaction that would create the task.

Locks are taken in one order: the team's row, its turn for waits, the assignee's row, tasks by id, budget accounts
upwards.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import func, select
from sqlalchemy.ext.asyncio import AsyncSession

from app.agents import service as agents
from app.agents.models import Agent
from app.budgets import service as budgets
from app.budgets.caps import TeamCaps, caps_of
from app.config import Settings
from app.contracts import service as contracts
from app.contracts.documents import invalid
from app.contracts.models import Contract
from app.db.transaction import enqueue_task_after_commit
from app.errors import Conflict, InvalidInput, NotFound
from app.events.kinds import EventKind
from app.events.log import Actor
from app.ids import Prefix, new_id, to_global
from app.redaction import Redaction, redacted
from app.tasks import dependencies, tools
from app.tasks.availability import refuse_first_task, refuse_unavailable
from app.tasks.chain import authority_of, chain_above, slugs_of
from app.tasks.delegation import Authority, check_askers, check_chain
from app.tasks.errors import ClaimLost
from app.tasks.funding import Payer, open_budget
from app.tasks.models import OPEN, Task, TaskStatus
from app.tasks.narration import tell
from app.tasks.oscillation import check_repeats, fingerprint
from app.tasks.priority import due_at
from app.tasks.retry_policy import FailureCode
from app.tasks.spec import MAX_DEPENDENCIES, MAX_TITLE, TaskSpec, row_of
from app.tasks.starts import chain_root_of
from app.tasks.waits import askers_of
from app.teams.flags import FeatureFlag, require
from app.teams.models import Team

_SAID = {"title", "instructions", "context", "expected_output", "input_artifacts"}


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
    group_id: UUID | None = None  # the group that it was given to, and why the assignee was picked in it
    picked_because: str | None = None
    again: bool = False  # what was delegated once: who asked may have been stopped since then, and tools be gone
    conversation_id: UUID | None = None  # of what is delegated again without the task above it, and what it takes out
    redacts: Redaction | None = None
    allowance_of: UUID | None = None  # the agent whose allowance pays for work without a parent
    directives: bool = False  # whether the offline model obeys directives in its instructions


async def delegate(
    session: AsyncSession, *, team_id: UUID, wanted: Delegation, settings: Settings, actor: Actor
) -> Task:
    """Raises FeatureDisabled, CycleDetected, DelegationDepthExceeded, OscillationDetected, AgentUnavailable,
    AuthorityExceeded, BudgetExhausted, AllowanceExceeded, QuotaExceeded, ClaimLost, NotFound, Conflict or InvalidInput;
    then nothing is created and nothing reserved."""
    caps, at = await permitted_caps(session, team_id, settings)
    contract = await _contract(session, team_id, wanted)
    if wanted.depends_on and wanted.parent_id:
        await dependencies.take_turns(session, team_id)
    involved = sorted({wanted.assignee_id} | ({wanted.allowance_of} if wanted.allowance_of else set()))
    locked_agents = {agent_id: await agents.lock(session, team_id, agent_id) for agent_id in involved}
    assignee = locked_agents[wanted.assignee_id]
    parent, needed = await _lock_named(session, team_id, wanted)
    creator_id = _creator(wanted, parent)
    if (redacts := wanted.redacts if parent is None else parent.redacts) is not None:
        wanted = _clean(redacts, wanted)
    if parent is None and not wanted.again:
        await refuse_first_task(session, team_id, creator_id, limit=settings.first_tasks_per_sender)
    chain = await _checked_chain(session, team_id, creator_id, parent, assignee)
    input_hash = _fingerprint(wanted)
    if parent is not None:
        await _refuse_oscillation(session, parent, assignee, input_hash, chain)
    authority = await _authority(session, team_id, wanted, parent, assignee)
    if not wanted.again:
        await tools.refuse_unknown(session, team_id, assignee, wanted.spec.tools)
    await refuse_unavailable(session, assignee)
    if parent and needed:
        await dependencies.refuse_wait_cycle(
            session, team_id=team_id, title=wanted.spec.title, needs=wanted.depends_on, parent_id=parent.id
        )
    task = _row(wanted, team_id, creator_id, parent, actor)
    granted_to = locked_agents[wanted.allowance_of] if wanted.allowance_of else None
    payer = Payer(parent.budget_id if parent else None, granted_to)
    task.budget_id, unfunded = await open_budget(
        session, team_id=team_id, payer=payer, amount=wanted.spec.budget_usd, caps=caps, settings=settings
    )
    task.waiting_for = sum(one.status in OPEN for one in needed)
    task.contract_id, task.contract_input = contract.id if contract else None, wanted.contract_input
    task.input_hash = input_hash
    task.group_id, task.picked_because = wanted.group_id, wanted.picked_because
    task.allowed_tools = None if authority.tools is None else sorted(authority.tools)
    if wanted.agents is not None:
        task.allowed_agents = sorted(wanted.agents)
    elif parent is not None:
        task.allowed_agents = parent.allowed_agents
    task.due_at = due_at(at, wanted.spec.priority)
    session.add(task)
    told: dict[str, Any] = {"title": task.title, "type": task.type, "priority": task.priority}
    if contract is not None:
        told["contract"] = {"name": contract.name, "version": contract.version}
    if wanted.group_id is not None:
        told |= {"groupId": to_global(Prefix.GROUP, wanted.group_id), "pickedBecause": wanted.picked_because}
    tell(session, EventKind.TASK_CREATED, task, actor, creatorId=to_global(Prefix.AGENT, creator_id), **told)
    await session.flush()
    await dependencies.add(session, task, wanted.depends_on)
    if unfunded is not None:
        await budgets.fund(session, unfunded)
    enqueue_task_after_commit(session, task.id)
    return task


async def permitted_caps(session: AsyncSession, team_id: UUID, settings: Settings) -> tuple[TeamCaps, datetime]:
    """What the team may spend, and the moment of the transaction; raises FeatureDisabled where it may not delegate at
    all.

    Its row is shared: who changes its budgets waits for the tasks that are being made under the old ones.
    """
    mine = select(Team, func.now()).where(Team.id == team_id).with_for_update(read=True)
    team, at = (await session.execute(mine.execution_options(populate_existing=True))).one()
    require(FeatureFlag.TASK_DELEGATION, settings.flags, team.flags)
    return caps_of(team, settings), at


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


async def _checked_chain(
    session: AsyncSession, team_id: UUID, creator_id: UUID, parent: Task | None, assignee: Agent
) -> list[str]:
    """The agents above the new task. Raises CycleDetected or DelegationDepthExceeded."""
    if parent is None:
        chain = await slugs_of(session, team_id, [creator_id])
    else:
        chain = await chain_above(session, parent)
        check_askers(await askers_of(session, team_id=team_id, root_id=parent.root_id), chain, assignee.slug)
    check_chain(chain, assignee.slug)
    return chain


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
    """Counts the tasks of the whole chain, but not those that were cancelled because the attempt that asked was lost:
    its next one has to ask again. The assignee's row is locked, so of two that ask the same at once the second counts
    the first."""
    chain_root = chain_root_of(parent)
    asked_before = select(func.count()).where(
        Task.team_id == parent.team_id,
        (Task.root_id == chain_root) | (Task.chain_root_id == chain_root),
        Task.creator_id == parent.assignee_id,
        Task.assignee_id == assignee.id,
        Task.input_hash == input_hash,
        func.coalesce(Task.error_code, "") != FailureCode.PARENT_ENDED,
    )
    check_repeats(await session.scalar(asked_before) or 0, [*chain, assignee.slug])


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
            raise Conflict(
                f"'{one.title}' is {one.status.value}, so a task that depends on it could never start. Retry that one "
                "first, or leave it out of dependsOn."
            )
    parent = found[wanted.parent_id] if wanted.parent_id else None
    if parent is not None:
        _check_parent(parent, wanted)
    return parent, needed


def _check_parent(parent: Task, wanted: Delegation) -> None:
    if wanted.claim_token is not None and wanted.claim_token != parent.claim_token:
        raise ClaimLost
    if parent.status is not TaskStatus.IN_PROGRESS:
        raise Conflict(
            f"The task above is {parent.status.value}; only one in progress can delegate. Claim it first, or leave "
            "parentId out."
        )


def _creator(wanted: Delegation, parent: Task | None) -> UUID:
    creator_id = wanted.creator_id or (parent.assignee_id if parent else None)
    if creator_id is None:
        raise InvalidInput.of("creatorId", "is needed for a task without a parent")
    if parent is not None and creator_id != parent.assignee_id:
        raise InvalidInput.of("creatorId", "must be the agent that works on the parent, or be left out")
    return creator_id


def _clean(what: Redaction, wanted: Delegation) -> Delegation:
    """What a task asks others for is said in its work."""
    said = redacted(wanted.spec.model_dump(include=_SAID), what)
    said["title"] = said["title"][:MAX_TITLE]
    given = redacted(wanted.contract_input, what)
    return replace(wanted, spec=wanted.spec.model_copy(update=said), contract_input=given)


async def _authority(
    session: AsyncSession, team_id: UUID, wanted: Delegation, parent: Task | None, assignee: Agent
) -> Authority:
    granted = await authority_of(session, parent)
    asked = None if wanted.agents is None else frozenset(await slugs_of(session, team_id, list(wanted.agents)))
    wished = None if wanted.spec.tools is None else frozenset(wanted.spec.tools)
    return granted.narrowed(tools=wished, agents=asked, assignee=assignee.slug)


def _row(wanted: Delegation, team_id: UUID, creator_id: UUID, parent: Task | None, actor: Actor) -> Task:
    task = row_of(wanted.spec, new_id(), team_id)
    task.creator_id, task.assignee_id = creator_id, wanted.assignee_id
    task.depth = parent.depth + 1 if parent else 1
    task.on_behalf_of = parent.on_behalf_of if parent else actor.name
    task.root_id = parent.root_id if parent else task.id
    task.conversation_id, task.redacts = wanted.conversation_id, wanted.redacts
    task.obeys_directives = wanted.directives
    if parent is not None:
        task.chain_root_id = parent.chain_root_id
        task.parent_id, task.grandparent_id = parent.id, parent.parent_id
        task.collaboration_id = parent.collaboration_id
        task.conversation_id, task.redacts = parent.conversation_id, parent.redacts
    return task
