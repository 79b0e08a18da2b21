"""Opens a task's budget: carved from the task or session above it, else from the team's day."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from app.agents.allowances import require_allowance
from app.agents.models import Agent
from app.budgets import service as budgets
from app.budgets.caps import TeamCaps
from app.budgets.service import Unfunded
from app.config import Settings


@dataclass(frozen=True, slots=True)
class Payer:
    """`account_id` is that of the task or session above. Without one the team's day pays; `granted_to`, whose row is
    locked, is the agent whose allowance that counts for."""

    account_id: UUID | None = None
    granted_to: Agent | None = None


async def open_budget(
    session: AsyncSession, *, team_id: UUID, payer: Payer, amount: Decimal | None, caps: TeamCaps, settings: Settings
) -> tuple[UUID, Unfunded | None]:
    """The account, and what is still to be reserved for it with `budgets.fund` when all else is written. Raises
    BudgetExhausted or AllowanceExceeded."""
    usual = settings.task_budget_usd
    if payer.account_id is not None:
        account_id, _ = await budgets.open_below(
            session, team_id=team_id, parent_id=payer.account_id, amount=amount, usual=usual
        )
        return account_id, None
    agent = payer.granted_to
    if agent is not None:
        await require_allowance(session, agent=agent, amount=amount or usual, settings=settings)
    opened = await budgets.draw_up_for_team(
        session, team_id=team_id, caps=caps, amount=amount or usual, granted_to=agent.id if agent else None
    )
    return opened.account_id, opened
