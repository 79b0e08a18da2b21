"""Appends to the event log, in the transaction of the change that the event tells of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncSession

from app.db.transaction import remember_bell
from app.events.cursor import EventCursor
from app.events.kinds import EventKind
from app.events.models import Event
from app.events.reading import END


@dataclass(frozen=True, slots=True)
class Actor:
    """Who did it: the name to show, and the key that was used, if any."""

    name: str
    api_key_id: UUID | None = None


SYSTEM = Actor("parley")


@dataclass(frozen=True, slots=True)
class WakeUp:
    """The bell that tells every process to read the log."""


def append(
    session: AsyncSession,
    kind: EventKind,
    *,
    team_id: UUID,
    actor: Actor,
    agent_id: UUID | None = None,
    changes: dict[str, Any] | None = None,
) -> Event:
    event = Event(
        kind=kind,
        team_id=team_id,
        actor=actor.name,
        api_key_id=actor.api_key_id,
        agent_id=agent_id,
        changes=changes or {},
    )
    session.add(event)
    session.info["last_event"] = event
    remember_bell(session, WakeUp())
    return event


async def own_cursor(session: AsyncSession, team_id: UUID) -> EventCursor:
    """The cursor of the last event that this transaction appended, or where the log ends when it appended none."""
    event: Event | None = session.info.get("last_event")
    if event is None:
        position, event_id = (await session.execute(text(END))).one()
        return EventCursor(team_id=team_id, position=position, event_id=event_id)
    await session.flush()
    return EventCursor(team_id=team_id, position=event.position, event_id=event.id)
