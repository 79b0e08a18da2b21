"""Which tools a task may be given by name: a word that nobody knows is a slip of the pen that would leave an agent
without its tool."""

from __future__ import annotations

from collections.abc import Collection
from uuid import UUID

from sqlalchemy import func, select
from sqlalchemy.ext.asyncio import AsyncSession

from app.agents.models import Agent, AgentRuntime
from app.errors import InvalidInput

# Of every managed agent, where its task allows them; a test holds them against those that it is lent.
MANAGED_TOOLS = frozenset({
    "ask_person", "check_collaboration", "check_consultation", "check_report", "check_task_status",
    "clarify_consultation", "delegate_task", "get_agent_inbox", "rate_consultation", "remember", "request_consultation",
    "request_report", "send_agent_message", "start_collaboration",
})  # fmt: skip


async def refuse_unknown(session: AsyncSession, team_id: UUID, assignee: Agent, named: Collection[str] | None) -> None:
    """Raises InvalidInput for a managed agent's task. An agent of somebody's own has tools that only it knows; what an
    agent of the team declares may be meant for it, further down."""
    unknown = set(named or ()) - MANAGED_TOOLS
    if assignee.runtime is not AgentRuntime.MANAGED or not unknown:
        return
    declared = select(func.unnest(Agent.tools)).where(Agent.team_id == team_id).distinct()
    if missing := sorted(unknown - set(await session.scalars(declared))):
        known = ", ".join(sorted(MANAGED_TOOLS))
        raise InvalidInput.of("tools", f"no agent of this team has {', '.join(missing)}. {assignee.name} has: {known}")
