"""Goes on with reports."""

from __future__ import annotations

from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from app.reports import transitions
from jobs.context import JobContext
from jobs.follow_up import follow_up


@follow_up()
async def report_task_ended(job: JobContext, session: AsyncSession, team_id: UUID, task_id: UUID) -> None:
    """Parses and validates what the agent wrote."""
    await transitions.advance(session, team_id=team_id, task_id=task_id, settings=job.settings)
