"""Tells the event log what happened to a task."""

from __future__ import annotations

from typing import Any

from sqlalchemy.ext.asyncio import AsyncSession

from app.events.kinds import EventKind
from app.events.log import Actor, append
from app.ids import Prefix, to_global
from app.tasks.models import Task


def tell(session: AsyncSession, kind: EventKind, task: Task, actor: Actor, **changes: Any) -> None:
    """The event concerns the assignee, so that whoever follows an agent learns of its tasks."""
    above = {"parentId": to_global(Prefix.TASK, task.parent_id)} if task.parent_id else {}
    append(
        session,
        kind,
        team_id=task.team_id,
        actor=actor,
        agent_id=task.assignee_id,
        task_id=task.id,
        changes={"status": task.status, **above, **changes},
    )
