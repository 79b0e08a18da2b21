"""Tells the event log what happened to a task."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from app.events.kinds import EventKind
from app.events.log import Actor, append
from app.events.subject import TaskSubject
from app.ids import Prefix, to_global
from app.tasks.models import Task, TaskStatus
from app.tasks.redacting import without_secrets

MOST_CHARACTERS = 500


def tell(
    session: AsyncSession,
    kind: EventKind,
    task: Task,
    actor: Actor,
    *,
    former_assignee_id: UUID | None = None,
    **changes: Any,
) -> None:
    """The event concerns the assignee, so that whoever follows an agent learns of its tasks, and the creator."""
    above = {"parentId": to_global(Prefix.TASK, task.parent_id)} if task.parent_id else {}
    told = {"status": task.status, **above, **changes}
    append(
        session,
        kind,
        team_id=task.team_id,
        actor=actor,
        agent_id=task.assignee_id,
        conversation_id=task.conversation_id,
        task=TaskSubject(
            task.id, task.root_id, task.parent_id, task.grandparent_id, task.creator_id, former_assignee_id
        ),
        collaboration_id=task.collaboration_id,
        changes={name: _told(task, value) for name, value in told.items()},
    )


def _told(task: Task, value: Any) -> Any:
    return excerpt(without_secrets(task, value)) if type(value) is str else value


def used(task: Task) -> dict[str, Any]:
    """What the task's attempts have used so far, in all."""
    return {"tokensUsed": task.tokens_used, "cost": float(task.cost)}


def end_of(task: Task) -> dict[str, Any]:
    """What an ended task leaves: its result, or how far it came and why no further."""
    if task.status is TaskStatus.COMPLETED:
        return {"result": task.result, **used(task)}
    return {"errorCode": task.error_code, "error": task.error_message, "progress": task.progress, **used(task)}


def excerpt(text: str) -> str:
    """The beginning of a long text; the task has all of it."""
    return text if len(text) <= MOST_CHARACTERS else text[: MOST_CHARACTERS - 1] + "…"
