"""Goes on with replies in conversations."""

from __future__ import annotations

from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from jobs.context import JobContext
from jobs.follow_up import follow_up


async def _abandon_reply(job: JobContext, session: AsyncSession, team_id: UUID, reply_id: UUID) -> None:
    await job.answering.abandon(session, team_id, reply_id)


async def _abandon_task(job: JobContext, session: AsyncSession, team_id: UUID, task_id: UUID) -> None:
    await job.answering.abandon_task(session, team_id, task_id)


async def _abandon_contribution(job: JobContext, session: AsyncSession, team_id: UUID, contribution_id: UUID) -> None:
    await job.answering.abandon_contribution(session, team_id, contribution_id)


@follow_up(fallback=_abandon_reply)
async def start_reply(job: JobContext, session: AsyncSession, team_id: UUID, reply_id: UUID) -> None:
    """Asks the chosen agents to answer."""
    await job.answering.start(session, team_id, reply_id)


@follow_up(fallback=_abandon_task)
async def reply_task_ended(job: JobContext, session: AsyncSession, team_id: UUID, task_id: UUID) -> None:
    """Takes an agent's answer, or asks the next one."""
    await job.answering.task_ended(session, team_id, task_id)


@follow_up(fallback=_abandon_contribution)
async def contribution_overdue(job: JobContext, session: AsyncSession, team_id: UUID, contribution_id: UUID) -> None:
    """Goes on without an agent that did not answer in time."""
    await job.answering.overdue(session, team_id, contribution_id)
