"""Appends to the event log, in the transaction of the change that the event tells of."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any
from uuid import UUID

from pydantic import BaseModel
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncSession

from app.db.transaction import WakeUp, wake_after_commit
from app.events.cursor import EventCursor
from app.events.kinds import EventKind
from app.events.models import Event
from app.events.reading import END
from app.events.subject import TaskSubject
from app.ids import new_id


@dataclass(frozen=True, slots=True)
class Actor:
    """Who did it: the name to show, and the key that was used, if any."""

    name: str
    api_key_id: UUID | None = None


SYSTEM = Actor("parley")
_PLACE = text(f"""
select ours, end_position, end_id from (select event_horizon() = :position as ours offset 0) as horizon
left join lateral (select * from ({END}) as ending where not horizon.ours) as ending on true
""")


def append(
    session: AsyncSession,
    kind: EventKind,
    *,
    team_id: UUID,
    actor: Actor,
    agent_id: UUID | None = None,
    task: TaskSubject | None = None,
    conversation_id: UUID | None = None,
    collaboration_id: UUID | None = None,
    consultation_id: UUID | None = None,
    creator_id: UUID | None = None,
    changes: dict[str, Any] | None = None,
) -> Event:
    """`changes` says what is new, by field; ids in it are global ones. `creator_id` is the other agent that it
    concerns, where that is not the creator of the task."""
    event = told(
        kind,
        team_id=team_id,
        actor=actor,
        agent_id=agent_id,
        task=task,
        conversation_id=conversation_id,
        collaboration_id=collaboration_id,
        consultation_id=consultation_id,
        creator_id=creator_id,
        changes=changes,
    )
    session.add(event)
    session.info["last_event"] = event
    wake_after_commit(session, WakeUp.EVENTS)
    return event


def told(
    kind: EventKind,
    *,
    team_id: UUID,
    actor: Actor,
    agent_id: UUID | None = None,
    task: TaskSubject | None = None,
    conversation_id: UUID | None = None,
    collaboration_id: UUID | None = None,
    consultation_id: UUID | None = None,
    creator_id: UUID | None = None,
    changes: dict[str, Any] | None = None,
) -> Event:
    """An event that is not yet appended."""
    return Event(
        id=new_id(),
        kind=kind,
        team_id=team_id,
        actor=actor.name,
        api_key_id=actor.api_key_id,
        agent_id=agent_id,
        task_id=task.id if task else None,
        parent_task_id=task.parent_id if task else None,
        grandparent_task_id=task.grandparent_id if task else None,
        root_task_id=task.root_id if task else None,
        creator_id=creator_id or (task.creator_id if task else None),
        former_assignee_id=task.former_assignee_id if task else None,
        conversation_id=conversation_id,
        collaboration_id=collaboration_id,
        consultation_id=consultation_id,
        changes={_camel(name): _shown(value) for name, value in (changes or {}).items()},
    )


def _camel(name: str) -> str:
    head, *rest = name.split("_")
    return head + "".join(part.title() for part in rest)


def _shown(value: Any) -> Any:
    """As the graph would show it: an enum by its name, fields of an object in the schema's words."""
    if isinstance(value, Enum):
        return value.name
    if isinstance(value, BaseModel):
        return {_camel(name): _shown(item) for name, item in value}
    if isinstance(value, dict):
        return {name: _shown(item) for name, item in value.items()}
    return [_shown(item) for item in value] if isinstance(value, list | tuple) else value


async def own_cursor(session: AsyncSession, team_id: UUID) -> EventCursor:
    """A cursor behind which everything comes that this transaction did not see.

    That is its own last event, unless an older transaction is still running: its events will stand before ours. Then
    it is where the log can be read to now, and what we appended comes again.
    """
    event: Event | None = session.info.get("last_event")
    if event is not None:
        await session.flush()
    ours, position, event_id = (await session.execute(_PLACE, {"position": event.position if event else -1})).one()
    if ours and event is not None:
        position, event_id = event.position, event.id
    return EventCursor(team_id=team_id, position=position, event_id=event_id)
