"""Closes attention items at their deadline."""

from __future__ import annotations

from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from app.interventions import answering
from jobs.context import JobContext
from jobs.follow_up import follow_up


@follow_up()
async def attention_due(job: JobContext, session: AsyncSession, team_id: UUID, item_id: UUID) -> None:
    """Applies the default answer, unless someone answered first."""
    await answering.due(session, team_id, item_id)
