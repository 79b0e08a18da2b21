"""Reads that the API and the workers need of reports."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, or_, select
from sqlalchemy.ext.asyncio import AsyncSession

from app.auth.audience import in_audience
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


def readable_by(row: Any, *, team_id: Any, agent_id: Any) -> ColumnElement[bool]:
    """Whether an agent may read the report: it asks or writes, or takes part in what the report was asked in."""
    own = or_(row.requester_id == agent_id, row.assignee_id == agent_id)
    return or_(own, in_audience(row, team_id=team_id, agent_id=agent_id))


async def read(session: AsyncSession, *, team_id: UUID, report_id: UUID, agent_id: UUID | None = None) -> Written:
    """`agent_id` is the agent that reads; None: a person or a program. Raises NotFound."""
    query = select(Report).where(Report.team_id == team_id, Report.id == report_id)
    if agent_id is not None:
        query = query.where(readable_by(Report, team_id=team_id, agent_id=agent_id))
    report = await session.scalar(query)
    if report is None:
        raise NotFound("There is no such report in this team.")
    mine = select(ReportSection).where(ReportSection.team_id == team_id, ReportSection.report_id == report.id)
    return Written(report, list(await session.scalars(mine.order_by(ReportSection.position))))
