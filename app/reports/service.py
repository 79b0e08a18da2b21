"""Takes requests for reports: all that can be refused is refused here, in the transaction that would order them."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import func, select
from sqlalchemy.ext.asyncio import AsyncSession

from app.agents import service as agents
from app.config import Settings
from app.errors import Conflict
from app.events.kinds import EventKind
from app.events.log import Actor
from app.ids import new_id
from app.redaction import Redaction
from app.reports.effort import tier_of
from app.reports.models import OPEN, Report, ReportStatus
from app.reports.narration import tell
from app.reports.spec import ReportSpec
from app.reports.wording import instructions
from app.tasks.assignment import Assignment, assign
from app.tasks.availability import refuse_inactive
from app.tasks.errors import AuthorityExceeded
from app.tasks.models import TaskPurpose
from app.tasks.spec import TaskSpec
from app.teams import service as teams
from app.teams.flags import FeatureFlag, require

MOST_OPEN = 20  # reports that one agent may have asked for at a time
MOST_TOKENS = 40_000
MOST_SECONDS = 600


@dataclass(frozen=True, slots=True)
class Ordered:
    """Who writes it, and who asks. `decision_id` is why it is this agent, where routing chose it. `tools` and `agents`
    are all that the task may use and ask from which it is asked for; None: no limit. `conversation_id` and
    `consultation_id` are what that task works for, and `redacts` what is taken out of its texts."""

    assignee_id: UUID
    requester_id: UUID | None = None
    on_behalf_of: str | None = None
    decision_id: UUID | None = None
    tools: Collection[str] | None = None
    agents: Collection[UUID] | None = None
    conversation_id: UUID | None = None
    consultation_id: UUID | None = None
    redacts: Redaction | None = None


async def request(
    session: AsyncSession, *, team_id: UUID, spec: ReportSpec, order: Ordered, settings: Settings, actor: Actor
) -> Report:
    """Raises FeatureDisabled, NotFound, AgentUnavailable, AuthorityExceeded, BudgetExhausted or Conflict; then nothing
    is created and nothing reserved."""
    team = await teams.share(session, team_id)
    require(FeatureFlag.TASK_DELEGATION, settings.flags, team.flags)
    for agent_id in sorted({order.assignee_id, order.requester_id or order.assignee_id}):
        agent = await agents.lock(session, team_id, agent_id)
        refuse_inactive(agent)
        if order.agents is not None and agent_id == order.assignee_id and agent_id not in order.agents:
            raise AuthorityExceeded([f"the agent '{agent.slug}'"])
    if order.requester_id is not None:
        await _refuse_one_more(session, order.requester_id)
    on_behalf_of = order.on_behalf_of or actor.name
    assignment = Assignment(
        TaskPurpose.REPORT,
        _task(spec, order),
        order.assignee_id,
        on_behalf_of,
        agents=order.agents,
        conversation_id=order.conversation_id,
        redacts=order.redacts,
    )
    task = await assign(session, team_id=team_id, wanted=assignment, settings=settings, actor=actor)
    report = _row(team_id, spec, order)
    report.task_id, report.on_behalf_of = task.id, on_behalf_of
    session.add(report)
    await session.flush()
    tell(session, EventKind.REPORT_REQUESTED, report, actor, type=report.type, title=report.title)
    return report


async def _refuse_one_more(session: AsyncSession, requester_id: UUID) -> None:
    """Its row is held, so of many that ask at once each counts those before."""
    mine = select(func.count()).where(Report.requester_id == requester_id, Report.status.in_(OPEN))
    if (await session.scalar(mine) or 0) >= MOST_OPEN:
        raise Conflict(f"This agent waits for {MOST_OPEN} reports, the most at a time. Wait until one has ended.")


def _task(spec: ReportSpec, order: Ordered) -> TaskSpec:
    return TaskSpec(
        type=spec.template.task_type,
        title=spec.title,
        instructions=instructions(spec),
        context=spec.context,
        expected_output=f"A report with the sections {', '.join(spec.required)}, as {spec.format.value}.",
        max_tokens=MOST_TOKENS,
        timeout_seconds=MOST_SECONDS,
        model_tier=tier_of(spec),
        budget_usd=spec.budget_usd,
        tools=None if order.tools is None else tuple(order.tools),
    )


def _row(team_id: UUID, spec: ReportSpec, order: Ordered) -> Report:
    return Report(
        id=new_id(),
        team_id=team_id,
        type=spec.type,
        title=spec.title,
        parameters=spec.parameters,
        required_sections=spec.required,
        max_sections=spec.max_sections,
        format=spec.format,
        assignee_id=order.assignee_id,
        requester_id=order.requester_id,
        decision_id=order.decision_id,
        conversation_id=order.conversation_id,
        consultation_id=order.consultation_id,
        status=ReportStatus.WORKING,
        missing_sections=[],
        problems=[],
    )
