"""Tells the event log what happened in a session."""

from __future__ import annotations

from typing import Any

from sqlalchemy.ext.asyncio import AsyncSession

from app.collaborations.models import Collaboration, CollaborationStage
from app.events.kinds import EventKind
from app.events.log import Actor, append
from app.events.subject import TaskSubject
from app.ids import Prefix, to_global
from app.tasks.narration import excerpt


def tell(session: AsyncSession, kind: EventKind, row: Collaboration, actor: Actor, **changes: Any) -> None:
    told = {"collaborationId": to_global(Prefix.COLLABORATION, row.id), "status": row.status, **changes}
    append(
        session,
        kind,
        team_id=row.team_id,
        actor=actor,
        agent_id=row.lead_id,
        collaboration_id=row.id,
        changes=_short(told),
    )


def tell_stage(
    session: AsyncSession, kind: EventKind, row: Collaboration, stage: CollaborationStage, actor: Actor, **changes: Any
) -> None:
    """The event concerns the agent of the stage, and its task."""
    told = {
        "collaborationId": to_global(Prefix.COLLABORATION, row.id),
        "stageId": to_global(Prefix.STAGE, stage.id),
        "kind": stage.kind,
        "name": stage.name,
        "round": stage.round,
        "attempt": stage.attempt,
        "status": stage.status,
        **changes,
    }
    task = stage.task_id and TaskSubject(stage.task_id, stage.task_id, None, None, None)
    append(
        session,
        kind,
        team_id=row.team_id,
        actor=actor,
        agent_id=stage.agent_id,
        task=task or None,
        collaboration_id=row.id,
        changes=_short(told),
    )


def end_of(stage: CollaborationStage) -> dict[str, Any]:
    """What an ended stage leaves."""
    used = {"tokensUsed": stage.tokens_used, "cost": float(stage.cost), "durationSeconds": stage.duration_s}
    if stage.error_code is None:
        return {"output": stage.output, **used}
    return {"errorCode": stage.error_code, "error": stage.error_message, "output": stage.output, **used}


def _short(told: dict[str, Any]) -> dict[str, Any]:
    return {name: excerpt(value) if isinstance(value, str) else value for name, value in told.items()}
