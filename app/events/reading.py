"""Reads the event log in its one order: by position, then by event, and only what no running transaction can precede."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

import asyncpg

from app.db.engine import Database
from app.events.cursor import LAST_ID, EventCursor, InvalidCursor
from app.events.kinds import EventKind

Place = tuple[int, UUID]


@dataclass(frozen=True, slots=True)
class EventRow:
    """What is needed to decide who is told: not what happened, which is read in the subscriber's own words."""

    position: int
    id: UUID
    team_id: UUID
    kind: str
    agent_id: UUID | None
    at: datetime

    @property
    def place(self) -> Place:
        return (self.position, self.id)


@dataclass(frozen=True, slots=True)
class Topic:
    """Which events a stream is about."""

    team_id: UUID
    kinds: frozenset[EventKind] | None = None
    agent_id: UUID | None = None

    def matches(self, row: EventRow) -> bool:
        return (
            row.team_id == self.team_id
            and (self.kinds is None or row.kind in self.kinds)
            and (self.agent_id is None or row.agent_id == self.agent_id)
        )


@dataclass(frozen=True, slots=True)
class Batch:
    """Events in order, and the place up to which the log has been read. `hidden`: more wait for older transactions."""

    rows: list[EventRow]
    through: Place
    full: bool = False
    hidden: bool = field(default=False)


_TAIL = """
with clock as materialized (select event_horizon() as horizon)
select position, id, team_id, kind, agent_id, at, position < horizon as ready, horizon
from clock left join lateral (
    select position, id, team_id, kind, agent_id, at from event
    where (position, id) > ($1, $2) order by position, id limit $3
) as event on true
"""
_TOPIC = """
with clock as materialized (select event_horizon() as horizon)
select position, id, team_id, kind, agent_id, at, true as ready, horizon
from clock left join lateral (
    select position, id, team_id, kind, agent_id, at from event
    where team_id = $4 and (position, id) > ($1, $2) and position < horizon
        and ($5::text[] is null or kind = any($5)) and ($6::uuid is null or agent_id = $6)
    order by position, id limit $3
) as event on true
"""
_STATE = """
select floor, event_horizon() as horizon,
    shift + pg_snapshot_xmax(pg_current_snapshot())::text::bigint as future from event_clock
"""


async def tail(database: Database, after: Place, limit: int) -> Batch:
    """All teams' events behind a place."""
    return _batch(await database.fetch(_TAIL, *after, limit), after, limit)


async def read_topic(database: Database, topic: Topic, after: Place, limit: int) -> Batch:
    kinds = None if topic.kinds is None else [kind.value for kind in topic.kinds]
    rows = await database.fetch(_TOPIC, *after, limit, topic.team_id, kinds, topic.agent_id)
    return _batch(rows, after, limit)


def _batch(found: list[asyncpg.Record], after: Place, limit: int) -> Batch:
    rows = [
        EventRow(r["position"], r["id"], r["team_id"], r["kind"], r["agent_id"], r["at"])
        for r in found
        if r["id"] is not None and r["ready"]
    ]
    present = sum(1 for r in found if r["id"] is not None)
    if present == limit:
        return Batch(rows, rows[-1].place if rows else after, full=len(rows) == limit, hidden=len(rows) < limit)
    # Everything below the horizon was seen, whether or not it matched.
    return Batch(rows, max(after, (found[0]["horizon"] - 1, LAST_ID)), hidden=len(rows) < present)


@dataclass(frozen=True, slots=True)
class LogState:
    floor: int
    horizon: int
    future: int

    @property
    def end(self) -> Place:
        return (self.horizon - 1, LAST_ID)


async def log_state(database: Database) -> LogState:
    row = await database.fetchrow(_STATE)
    assert row is not None
    return LogState(row["floor"], row["horizon"], row["future"])


def check_cursor(cursor: EventCursor, state: LogState) -> bool:
    """Whether retention has passed the cursor, so that events behind it may be gone; raises InvalidCursor."""
    if cursor.position >= state.future:
        raise InvalidCursor("FUTURE", "This cursor lies in the future: no event has it yet.")
    return cursor.position < state.floor
