"""What an agent's key may spend in a UTC day on work that it starts outside any task. An admin grants it."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from uuid import UUID

from sqlalchemy import case, func, select
from sqlalchemy.ext.asyncio import AsyncSession

from app.agents import service as agents
from app.agents.models import Agent
from app.budgets.errors import AllowanceExceeded
from app.budgets.models import BudgetAccount
from app.clock import now
from app.config import Settings
from app.errors import InvalidInput
from app.events.kinds import EventKind
from app.events.log import Actor, append

MAX_ALLOWANCE_USD = 1_000_000


def allowance_of(agent: Agent, settings: Settings) -> Decimal:
    """The agent's own allowance; without one, the installation's."""
    own = agent.day_allowance_usd
    return settings.agent_day_allowance_usd if own is None else own


async def require_allowance(session: AsyncSession, *, agent: Agent, amount: Decimal, settings: Settings) -> None:
    """Raises AllowanceExceeded. The agent's row is locked, so concurrent requests count each other."""
    allowance = allowance_of(agent, settings)
    used = await used_today(session, agent.id)
    if used + amount > allowance:
        raise AllowanceExceeded(agent=agent.slug, allowance=allowance, used=used, asked=amount)


async def used_today(session: AsyncSession, agent_id: UUID) -> Decimal:
    """What work under way has reserved, and what ended work has spent, of all that the agent's key started today."""
    account = BudgetAccount
    midnight = datetime.combine(now().date(), datetime.min.time(), UTC)
    used = case((account.closed_at.is_(None), func.greatest(account.cap, account.spent)), else_=account.spent)
    today = (account.granted_to_id == agent_id) & (account.created_at >= midnight)
    return await session.scalar(select(func.coalesce(func.sum(used), 0)).where(today)) or Decimal(0)


async def set_allowance(
    session: AsyncSession, *, team_id: UUID, agent_id: UUID, day_usd: Decimal | None, actor: Actor
) -> Agent:
    """None: the installation's setting applies again. Raises InvalidInput or NotFound."""
    if day_usd is not None and not 0 <= day_usd <= MAX_ALLOWANCE_USD:
        raise InvalidInput.of("dayUsd", f"must be 0 to {MAX_ALLOWANCE_USD:,}")
    agent = await agents.lock(session, team_id, agent_id)
    if agent.day_allowance_usd != day_usd:
        agent.day_allowance_usd = day_usd
        changes = {"day_usd": None if day_usd is None else float(day_usd)}
        kind = EventKind.AGENT_ALLOWANCE_CHANGED
        append(session, kind, team_id=team_id, actor=actor, agent_id=agent_id, changes=changes)
    return agent
