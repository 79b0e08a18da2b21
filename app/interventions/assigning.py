"""Assigns what needs a person, and keeps no secret of a consultation in the note."""

from __future__ import annotations

from uuid import UUID

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from app.attention import service as attention
from app.attention.models import AttentionItem
from app.attention.service import MAX_NOTE
from app.config import Settings
from app.consultations.spec import what_to_redact
from app.errors import check_text
from app.events.log import Actor
from app.redaction import Redaction, redact
from app.tasks.models import Task


async def assign(
    session: AsyncSession,
    *,
    team_id: UUID,
    item_id: UUID,
    assignee: str | None,
    note: str,
    settings: Settings,
    actor: Actor,
) -> AttentionItem:
    """As `attention.assign`; raises what that raises."""
    note = check_text("note", note, most=MAX_NOTE)
    item = await attention.find(session, team_id=team_id, item_id=item_id)
    redaction = await _redaction_of(session, item, settings)
    clean = note if redaction is None else redact(note, redaction)[:MAX_NOTE]
    return await attention.assign(session, team_id=team_id, item_id=item_id, assignee=assignee, note=clean, actor=actor)


async def _redaction_of(session: AsyncSession, item: AttentionItem, settings: Settings) -> Redaction | None:
    if item.consultation_id is not None:
        return what_to_redact(settings.redact_emails)
    if item.task_id is None:
        return None
    return await session.scalar(select(Task.redacts).where(Task.team_id == item.team_id, Task.id == item.task_id))
