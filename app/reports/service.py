"""Takes requests for reports: all that can be refused is refused here, in the transaction that would order them."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import func, select
from sqlalchemy.ext.asyncio import AsyncSession

from app.agents import service as agents
from app.agents.models import Agent
from app.config import Settings
from app.errors import Conflict
from app.events.kinds import EventKind
from app.events.log import Actor
from app.ids import new_id
from app.reports.effort import tier_of
from app.reports.models import OPEN, Report, ReportStatus
from app.reports.narration import tell
from app.reports.spec import ReportSpec
from app.reports.wording import instructions
from app.tasks.assignment import Assignment, assign
from app.tasks.availability import refuse_inactive
from app.tasks.errors import AuthorityExceeded
from app.tasks.models import Task, TaskPurpose
from app.tasks.oscillation import check_repeats, fingerprint
from app.tasks.spec import TaskSpec
from app.tasks.starts import BY_OTHERS, Start, chain_root_of, lock_origin, refuse_in_chain
from app.teams import service as teams
from app.teams.flags import FeatureFlag, require

MOST_OPEN = 20  # reports that one agent may have asked for at a time
MOST_TOKENS = 40_000
MOST_SECONDS = 600


@dataclass(frozen=True, slots=True)
class Ordered:
    """Who writes it, and who asks. `decision_id` is why it is this agent, where routing chose it; `start` says on what
    authority it is asked for. `conversation_id` and `consultation_id` are what it is asked for in; by default the
    conversation of the task that starts it."""

    assignee_id: UUID
    requester_id: UUID | None = None
    decision_id: UUID | None = None
    start: Start = BY_OTHERS
    conversation_id: UUID | None = None
    consultation_id: UUID | None = None


async def request(
    session: AsyncSession, *, team_id: UUID, spec: ReportSpec, order: Ordered, settings: Settings, actor: Actor
) -> Report:
    """Raises FeatureDisabled, NotFound, AgentUnavailable, AuthorityExceeded, BudgetExhausted, AllowanceExceeded,
    CycleDetected, DelegationDepthExceeded, OscillationDetected, ClaimLost or Conflict; then nothing is created and
    nothing reserved."""
    team = await teams.share(session, team_id)
    require(FeatureFlag.TASK_DELEGATION, settings.flags, team.flags)
    involved = sorted({order.assignee_id, order.requester_id or order.assignee_id})
    locked_agents = {agent_id: await agents.lock(session, team_id, agent_id) for agent_id in involved}
    for agent in locked_agents.values():
        refuse_inactive(agent)
    origin = await lock_origin(session, team_id=team_id, start=order.start, agent_id=order.requester_id)
    wanted = _task(spec, origin)
    input_hash = fingerprint(
        instructions=wanted.instructions, context=wanted.context, artifacts=(), contract_input=None
    )
    if origin is not None:
        await _refuse_below(session, origin, locked_agents[order.assignee_id], input_hash)
    if order.requester_id is not None:
        await _refuse_one_more(session, order.requester_id)
    on_behalf_of = origin.on_behalf_of if origin else actor.name
    conversation_id = order.conversation_id or (origin.conversation_id if origin else None)
    assignment = Assignment(
        TaskPurpose.REPORT,
        wanted,
        order.assignee_id,
        on_behalf_of,
        budget_id=origin.budget_id if origin else None,
        agents=origin.allowed_agents if origin else None,
        conversation_id=conversation_id,
        redacts=origin.redacts if origin else None,
        origin=origin,
        granted_to=locked_agents[order.start.allowance_of] if order.start.allowance_of else None,
        input_hash=input_hash,
    )
    task = await assign(session, team_id=team_id, wanted=assignment, settings=settings, actor=actor)
    report = _row(team_id, spec, order)
    report.conversation_id = conversation_id
    report.task_id, report.on_behalf_of = task.id, on_behalf_of
    session.add(report)
    await session.flush()
    tell(session, EventKind.REPORT_REQUESTED, report, actor, type=report.type, title=report.title)
    return report


async def _refuse_below(session: AsyncSession, origin: Task, assignee: Agent, input_hash: bytes) -> None:
    """Work for a report asks for none: so no two can wait for each other, and no chain of them grows."""
    purpose = await session.scalar(select(Task.purpose).where(Task.id == origin.root_id))
    if purpose is TaskPurpose.REPORT:
        raise Conflict("This work is for a report, and asks for no further one. Delegate a task instead.")
    if origin.allowed_agents is not None and assignee.id not in origin.allowed_agents:
        raise AuthorityExceeded([f"the agent '{assignee.slug}'"])
    chain = await refuse_in_chain(session, origin, [assignee.slug])
    asked_before = select(func.count()).where(
        Task.team_id == origin.team_id,
        Task.chain_root_id == chain_root_of(origin),
        Task.purpose == TaskPurpose.REPORT,
        Task.assignee_id == assignee.id,
        Task.input_hash == input_hash,
    )
    check_repeats(await session.scalar(asked_before) or 0, [*chain, assignee.slug])


async def _refuse_one_more(session: AsyncSession, requester_id: UUID) -> None:
    """Its row is held, so of many that ask at once each counts those before."""
    mine = select(func.count()).where(Report.requester_id == requester_id, Report.status.in_(OPEN))
    if (await session.scalar(mine) or 0) >= MOST_OPEN:
        raise Conflict(f"This agent waits for {MOST_OPEN} reports, the most at a time. Wait until one has ended.")


def _task(spec: ReportSpec, origin: Task | None) -> TaskSpec:
    tools = origin.allowed_tools if origin else None
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
        tools=None if tools is None else tuple(tools),
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
