"""Tells the event log what happened to a report."""

from __future__ import annotations

from typing import Any

from sqlalchemy.ext.asyncio import AsyncSession

from app.events.kinds import EventKind
from app.events.log import Actor, append
from app.events.subject import TaskSubject
from app.ids import Prefix, to_global
from app.reports.models import Report


def tell(session: AsyncSession, kind: EventKind, report: Report, actor: Actor, **changes: Any) -> None:
    """The event concerns its writer, and the task in which it is written now."""
    task_id = report.repair_task_id or report.task_id
    append(
        session,
        kind,
        team_id=report.team_id,
        actor=actor,
        agent_id=report.assignee_id,
        task=TaskSubject(task_id, task_id, None, None, None),
        changes={"reportId": to_global(Prefix.REPORT, report.id), "status": report.status, **changes},
    )
