"""Reads that the API and the workers need of reports."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import or_, select
from sqlalchemy.ext.asyncio import AsyncSession

from app.errors import NotFound
from app.reports.models import Report, ReportSection


@dataclass(frozen=True, slots=True)
class Written:
    report: Report
    sections: list[ReportSection]


async def of_task(session: AsyncSession, *, team_id: UUID, task_id: UUID) -> Report | None:
    """The report that is written in this task, as a first version or as its repair."""
    either = or_(Report.task_id == task_id, Report.repair_task_id == task_id)
    return (await session.scalars(select(Report).where(Report.team_id == team_id, either))).one_or_none()


async def read(session: AsyncSession, *, team_id: UUID, report_id: UUID) -> Written:
    """Raises NotFound."""
    report = await session.scalar(select(Report).where(Report.team_id == team_id, Report.id == report_id))
    if report is None:
        raise NotFound("There is no such report in this team.")
    mine = select(ReportSection).where(ReportSection.team_id == team_id, ReportSection.report_id == report.id)
    return Written(report, list(await session.scalars(mine.order_by(ReportSection.position))))
