"""Ends handoffs that are due, and passes on what a stopped agent had."""

from __future__ import annotations

from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from app.consultations import transitions as consultations
from app.conversations.handoffs import lapses
from jobs.context import JobContext
from jobs.follow_up import follow_up


@follow_up()
async def handoff_due(job: JobContext, session: AsyncSession, team_id: UUID, handoff_id: UUID) -> None:
    """Returns a conversation whose handoff has ended or run out of time."""
    await lapses.due(session, team_id, handoff_id)


@follow_up()
async def agent_stopped(job: JobContext, session: AsyncSession, team_id: UUID, agent_id: UUID) -> None:
    """Passes one conversation of a stopped agent on and schedules itself again while there are more."""
    await consultations.agent_stopped(session, team_id, agent_id)
    await lapses.agent_stopped(session, team_id, agent_id)
