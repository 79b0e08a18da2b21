"""Reads that the API needs of sessions."""

from __future__ import annotations

from uuid import UUID

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from app.collaborations.models import OPEN, Collaboration, CollaborationParticipant, CollaborationStage, StageStatus
from app.db.engine import Database
from app.errors import Conflict, NotFound

_EXISTS = "select true from collaboration where team_id = $1 and id = $2"
_TAKES_PART = "select exists (select from collaboration_participant where collaboration_id = $1 and agent_id = $2)"


async def require_session(database: Database, *, team_id: UUID, collaboration_id: UUID) -> None:
    if not await database.fetchval(_EXISTS, team_id, collaboration_id):
        raise NotFound("There is no such collaboration session in this team.")


async def takes_part(database: Database, *, collaboration_id: UUID, agent_id: UUID) -> bool:
    return bool(await database.fetchval(_TAKES_PART, collaboration_id, agent_id))


async def open_task_of(
    session: AsyncSession, *, team_id: UUID, collaboration_id: UUID, agent_id: UUID, stage_id: UUID | None = None
) -> tuple[UUID, UUID]:
    """The stage that the agent has under way in a session, and its task: this one, or of several the one that was
    ordered first. Raises NotFound or Conflict."""
    mine = select(CollaborationStage.id, CollaborationStage.task_id, CollaborationStage.status).where(
        CollaborationStage.team_id == team_id,
        CollaborationStage.collaboration_id == collaboration_id,
        CollaborationStage.agent_id == agent_id,
    )
    if stage_id is not None:
        mine = mine.where(CollaborationStage.id == stage_id)
    rows = (await session.execute(mine.order_by(CollaborationStage.position))).all()
    if not rows:
        raise NotFound("The agent has no such stage in such a session.")
    found = next((row for row in rows if row.status is StageStatus.WORKING), None)
    if found is None or found.task_id is None:
        raise Conflict("The agent has no open stage in this session now, or this one has ended.")
    return found.id, found.task_id


async def members_of_open(session: AsyncSession, *, team_id: UUID, collaboration_id: UUID | None) -> set[UUID]:
    """Who takes part in an open session, and who leads it; nobody when there is none or it has ended."""
    mine = select(Collaboration.id, Collaboration.lead_id).where(
        Collaboration.team_id == team_id, Collaboration.id == collaboration_id, Collaboration.status.in_(OPEN)
    )
    found = (await session.execute(mine)).one_or_none()
    if found is None:
        return set()
    seats = select(CollaborationParticipant.agent_id).where(CollaborationParticipant.collaboration_id == found.id)
    return {*await session.scalars(seats), *([found.lead_id] if found.lead_id else [])}
