"""What a session may be that a task starts: paid from the task's budget, within its limits, no repetition."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from uuid import UUID

from sqlalchemy import func, select
from sqlalchemy.ext.asyncio import AsyncSession

from app.agents.allowances import require_allowance
from app.agents.models import Agent
from app.budgets import service as budgets
from app.budgets.caps import caps_of
from app.budgets.models import AccountKind
from app.collaborations.models import Collaboration
from app.collaborations.spec import CollaborationSpec
from app.config import Settings
from app.errors import Conflict
from app.tasks.errors import AuthorityExceeded
from app.tasks.models import Task
from app.tasks.oscillation import check_repeats
from app.tasks.starts import chain_root_of, refuse_in_chain
from app.teams.models import Team


async def refuse_below(
    session: AsyncSession, task: Task, spec: CollaborationSpec, agents: Mapping[UUID, Agent]
) -> None:
    """Raises AuthorityExceeded, Conflict, CycleDetected, DelegationDepthExceeded or OscillationDetected. Who starts the
    session may always take part itself."""
    if task.collaboration_id is not None:
        raise Conflict("This task works for a session, and sessions never nest. Delegate a task instead.")
    others = [agent for agent in agents.values() if agent.id != task.assignee_id]
    if task.allowed_agents is not None:
        missing = [agent.slug for agent in others if agent.id not in task.allowed_agents]
        if missing:
            raise AuthorityExceeded([f"the agent '{slug}'" for slug in sorted(missing)])
    chain = await refuse_in_chain(session, task, [agent.slug for agent in others])
    check_repeats(await _count_same(session, task, spec), chain, f"{chain[-1]} has started the same session")


async def open_session_budget(
    session: AsyncSession,
    team: Team,
    spec: CollaborationSpec,
    task: Task | None,
    granted_to: Agent | None,
    settings: Settings,
) -> tuple[UUID, Decimal]:
    """The session's account and what it may cost; raises BudgetExhausted or AllowanceExceeded. Below a task, a session
    without a cap of its own gets at most half of what the task has left."""
    amount = spec.max_cost_usd
    if task is not None:
        return await budgets.open_below(
            session,
            team_id=team.id,
            parent_id=task.budget_id,
            amount=amount if "max_cost_usd" in spec.model_fields_set else None,
            usual=amount,
            kind=AccountKind.COLLABORATION,
        )
    if granted_to is not None:
        await require_allowance(session, agent=granted_to, amount=amount, settings=settings)
    account_id = await budgets.open_for_session(
        session,
        team_id=team.id,
        caps=caps_of(team, settings),
        amount=amount,
        granted_to=granted_to.id if granted_to else None,
    )
    return account_id, amount


async def _count_same(session: AsyncSession, task: Task, spec: CollaborationSpec) -> int:
    """How often sessions with the same pattern, goal and context were started in the whole chain of tasks."""
    chain_root = chain_root_of(task)
    same = (
        (Collaboration.pattern == spec.pattern)
        & (func.lower(Collaboration.goal) == spec.goal.lower())
        & (Collaboration.context == spec.context)
    )
    statement = (
        select(func.count())
        .select_from(Collaboration)
        .join(Task, Task.id == Collaboration.origin_task_id)
        .where(Collaboration.team_id == task.team_id, same)
        .where((Task.root_id == chain_root) | (Task.chain_root_id == chain_root))
    )
    return await session.scalar(statement) or 0
