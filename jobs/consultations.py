"""Goes on with consultations."""

from __future__ import annotations

from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from app.consultations import transitions
from jobs.context import JobContext
from jobs.follow_up import follow_up


@follow_up()
async def consultation_task_started(job: JobContext, session: AsyncSession, team_id: UUID, task_id: UUID) -> None:
    """Marks a consultation as in progress."""
    await transitions.begin(session, team_id, task_id)


@follow_up()
async def consultation_task_ended(job: JobContext, session: AsyncSession, team_id: UUID, task_id: UUID) -> None:
    """Delivers the specialist's answer, or escalates."""
    await transitions.advance(session, team_id=team_id, task_id=task_id)


@follow_up()
async def specialist_stopped(job: JobContext, session: AsyncSession, team_id: UUID, consultation_id: UUID) -> None:
    """Asks a person about a consultation whose specialist was paused or archived."""
    await transitions.stopped(session, team_id, consultation_id)
