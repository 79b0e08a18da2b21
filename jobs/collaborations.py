"""Advances collaboration sessions."""

from __future__ import annotations

from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from app.collaborations import transitions
from jobs.context import JobContext
from jobs.follow_up import follow_up


@follow_up()
async def stage_task_ended(job: JobContext, session: AsyncSession, team_id: UUID, task_id: UUID) -> None:
    """Closes a stage and starts what its pattern wants next."""
    await transitions.advance(session, team_id=team_id, task_id=task_id, settings=job.settings)


@follow_up()
async def session_deadline(job: JobContext, session: AsyncSession, team_id: UUID, collaboration_id: UUID) -> None:
    """Ends a session whose time is over."""
    await transitions.deadline_passed(session, team_id, collaboration_id)
