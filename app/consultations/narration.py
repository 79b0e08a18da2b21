"""Tells the event log what happened to a consultation."""

from __future__ import annotations

from typing import Any

from sqlalchemy.ext.asyncio import AsyncSession

from app.consultations.models import Consultation
from app.events.kinds import EventKind
from app.events.log import Actor, append
from app.events.subject import TaskSubject
from app.ids import Prefix, to_global
from app.tasks.narration import excerpt


def tell(session: AsyncSession, kind: EventKind, consultation: Consultation, actor: Actor, **changes: Any) -> None:
    """The event concerns the specialist, the agent that asked, and the task in which it is answered."""
    task_id = consultation.task_id
    told = {"consultationId": to_global(Prefix.CONSULTATION, consultation.id), "status": consultation.status, **changes}
    append(
        session,
        kind,
        team_id=consultation.team_id,
        actor=actor,
        agent_id=consultation.specialist_id,
        creator_id=consultation.requester_id,
        task=TaskSubject(task_id, task_id, None, None, None) if task_id else None,
        consultation_id=consultation.id,
        changes={name: excerpt(value) if isinstance(value, str) else value for name, value in told.items()},
    )
