"""Every change of a report after its request: one function, under its row lock, when one of its tasks has ended."""

from __future__ import annotations

from decimal import Decimal
from uuid import UUID

import structlog
from sqlalchemy import delete, func, or_, select
from sqlalchemy.ext.asyncio import AsyncSession

from app.agents import service as agents
from app.agents.models import Agent
from app.budgets import service as budgets
from app.budgets.errors import AllowanceExceeded, BudgetExhausted
from app.budgets.models import AccountKind, BudgetAccount
from app.config import Settings
from app.errors import AppError
from app.events.kinds import EventKind
from app.events.log import SYSTEM
from app.memories import service as memories
from app.memories.models import MemoryKind
from app.memories.service import Source
from app.reports import wording
from app.reports.models import Report, ReportSection, ReportStatus
from app.reports.narration import tell
from app.reports.templates import TEMPLATES
from app.reports.validation import Verdict, examine, kind_of
from app.tasks.assignment import Assignment, assign
from app.tasks.ending import NO_COST
from app.tasks.errors import AgentUnavailable
from app.tasks.locks import locked
from app.tasks.models import OPEN, Task, TaskPurpose, TaskStatus
from app.tasks.narration import excerpt
from app.tasks.spec import TaskSpec
from app.teams import service as teams

log = structlog.get_logger(__name__)


async def advance(session: AsyncSession, *, team_id: UUID, task_id: UUID, settings: Settings) -> None:
    """Take over what was written, once, however often this is asked for. What does not keep to the template is written
    again, once; then the report is invalid, with the reasons."""
    found = await _held(session, team_id, task_id)
    if found is None:
        return
    report, task = found
    if not _is_due(report, task):
        return
    if task.status is not TaskStatus.COMPLETED:
        await _undone(session, report, task)
        return
    verdict = _examine(report, task)
    await _keep(session, report, verdict)
    if verdict.is_valid:
        await _finish(session, report, ReportStatus.VALID, EventKind.REPORT_COMPLETED)
        await _remember(session, report, task, verdict)
    elif report.status is ReportStatus.REPAIRING:
        await _finish(session, report, ReportStatus.INVALID, EventKind.REPORT_INVALID)
    else:
        await _repair(session, report, task, settings)


async def _held(session: AsyncSession, team_id: UUID, task_id: UUID) -> tuple[Report, Task] | None:
    """Locks in their order: the team, the agents, the task that asked for it, the report. The report's own task has
    ended and changes no more of itself."""
    mine = (Task.team_id == team_id) & (Task.id == task_id)
    task = (await session.scalars(select(Task).where(mine).execution_options(populate_existing=True))).one_or_none()
    if task is None:
        return None
    await teams.share(session, team_id)
    of_task = (Report.team_id == team_id) & or_(Report.task_id == task_id, Report.repair_task_id == task_id)
    granted_to = await session.scalar(select(BudgetAccount.granted_to_id).where(BudgetAccount.id == task.budget_id))
    for agent_id in sorted({task.assignee_id, granted_to or task.assignee_id}):
        await agents.lock(session, team_id, agent_id)
    if task.origin_id is not None:
        await locked(session, team_id=team_id, task_id=task.origin_id)
    held = select(Report).where(of_task).with_for_update()
    report = (await session.scalars(held.execution_options(populate_existing=True))).one_or_none()
    return None if report is None else (report, task)


def _is_due(report: Report, task: Task) -> bool:
    """Whether it is the task that the report waits for, and has ended."""
    awaited = {ReportStatus.WORKING: report.task_id, ReportStatus.REPAIRING: report.repair_task_id}
    return task.status not in OPEN and awaited.get(report.status) == task.id


def _examine(report: Report, task: Task) -> Verdict:
    return examine(
        task.result or "",
        report.format,
        TEMPLATES[report.type],
        required=report.required_sections,
        max_sections=report.max_sections,
    )


async def _keep(session: AsyncSession, report: Report, verdict: Verdict) -> None:
    """The sections of the newest version take the place of those before."""
    template = TEMPLATES[report.type]
    await session.execute(delete(ReportSection).where(ReportSection.report_id == report.id))
    session.add_all(
        ReportSection(
            team_id=report.team_id,
            report_id=report.id,
            position=position,
            name=part.name,
            title=part.title,
            kind=kind_of(part.name, template, report.required_sections),
            content=part.content,
        )
        for position, part in enumerate(verdict.parts, 1)
    )
    report.missing_sections, report.problems = list(verdict.missing), list(verdict.problems)
    await session.flush()


async def _undone(session: AsyncSession, report: Report, task: Task) -> None:
    """A first version that no repair could replace stays, with its problems."""
    told = excerpt(task.error_message or "The task did not complete.")
    reason = f"{task.error_code or task.status.value.upper()}: {told}"
    if report.status is ReportStatus.REPAIRING:
        report.problems = [*report.problems, f"The repair did not succeed. {reason}"]
        await _finish(session, report, ReportStatus.INVALID, EventKind.REPORT_INVALID)
    else:
        report.problems = [reason]
        await _finish(session, report, ReportStatus.FAILED, EventKind.REPORT_FAILED)


async def _finish(session: AsyncSession, report: Report, status: ReportStatus, kind: EventKind) -> None:
    at = (await session.scalars(select(func.clock_timestamp()))).one()
    report.status, report.finished_at = status, at
    await session.flush()
    tell(session, kind, report, SYSTEM, missingSections=report.missing_sections, problems=report.problems)


async def _repair(session: AsyncSession, report: Report, first: Task, settings: Settings) -> None:
    """By the same agent. Where that cannot be, the report is invalid at once."""
    try:
        async with session.begin_nested():
            wanted = await _repair_of(session, report, first)
            task = await assign(session, team_id=report.team_id, wanted=wanted, settings=settings, actor=SYSTEM)
    except (AgentUnavailable, BudgetExhausted, AllowanceExceeded) as refused:
        report.problems = [*report.problems, f"The repair could not be ordered. {refused.message}"]
        await _finish(session, report, ReportStatus.INVALID, EventKind.REPORT_INVALID)
        return
    report.repair_task_id, report.status, report.finished_at = task.id, ReportStatus.REPAIRING, None
    await session.flush()
    told = {"missingSections": report.missing_sections, "problems": report.problems}
    tell(session, EventKind.REPORT_REPAIR_REQUESTED, report, SYSTEM, **told)


async def _repair_of(session: AsyncSession, report: Report, first: Task) -> Assignment:
    """Paid like the first version. Where an agent started the report, both versions share one budget; when its task has
    ended, only what the team funds directly can be repaired. Raises BudgetExhausted."""
    origin = await session.get(Task, first.origin_id) if first.origin_id else None
    funding = await budgets.funding_of(session, first.budget_id)
    is_paid_above = origin is not None and funding.funder_id is not None
    if funding.unspent <= 0 or (origin is not None and is_paid_above and origin.status not in OPEN):
        raise BudgetExhausted(
            scope=AccountKind.TASK, cap=funding.cap, reserved=NO_COST, spent=funding.cap, asked=funding.cap
        )
    granted_to = await session.get(Agent, funding.granted_to) if funding.granted_to else None
    is_shared = origin is not None or granted_to is not None
    return Assignment(
        TaskPurpose.REPORT,
        _again(report, first, funding.unspent if is_shared else funding.cap),
        first.assignee_id,
        report.on_behalf_of,
        budget_id=origin.budget_id if origin is not None and is_paid_above else None,
        agents=first.allowed_agents,
        conversation_id=first.conversation_id,
        redacts=first.redacts,
        origin=origin,
        granted_to=granted_to,
    )


def _again(report: Report, first: Task, cap: Decimal | None) -> TaskSpec:
    return TaskSpec(
        type=first.type,
        title=first.title,
        instructions=wording.repair(first.instructions, report.problems),
        context=wording.with_first_version(first.context, first.result or ""),
        expected_output=first.expected_output,
        max_tokens=first.max_tokens,
        timeout_seconds=first.timeout_s,
        model_tier=first.model_tier,
        budget_usd=cap,
        tools=None if first.allowed_tools is None else tuple(first.allowed_tools),
    )


async def _remember(session: AsyncSession, report: Report, task: Task, verdict: Verdict) -> None:
    """For those who may read the report. A full memory is no reason to lose a report."""
    text = wording.remembered(report.title, TEMPLATES[report.type], verdict.parts)
    try:
        async with session.begin_nested():
            done = await memories.remember(
                session,
                team_id=report.team_id,
                kind=MemoryKind.PROCEDURAL,
                text=text,
                source=Source(task.id, report.conversation_id, report.consultation_id),
                actor=SYSTEM,
            )
    except AppError as refused:
        log.warning("a report was not remembered", report=str(report.id), error=refused.message)
        return
    report.memory_id = done.memory.id
