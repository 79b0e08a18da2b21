"""Reads the event log in its one order: by position, then by event; only what no running transaction can precede."""

from __future__ import annotations

from dataclasses import dataclass
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
    """Events in order, and the place up to which the log has been read.

    `full`: there may be more. `hidden`: more is committed, and waits for an older transaction to end.
    """

    rows: list[EventRow]
    through: Place
    full: bool = False
    hidden: bool = False


# The place that a reader keeps is always that of a committed event. "Just below the oldest running transaction" would
# do until the database crashes: it hands out again the transaction ids of those that left no trace on its disk, and an
# event under such an id would lie behind every reader.
END = """
select coalesce(newest.position, floor) as end_position, coalesce(newest.id, '{last}') as end_id
from event_clock left join lateral (
    select position, id from event where position < (select event_horizon()) order by position desc, id desc limit 1
) as newest on true
""".replace("{last}", str(LAST_ID))
_TAIL = """
select position, id, team_id, kind, agent_id, at, position < (select event_horizon()) as ready from event
where (position, id) > ($1, $2) order by position, id limit $3
"""
_TOPIC = f"""
select position, id, team_id, kind, agent_id, at, end_position, end_id
from ({END}) as ending left join lateral (
    select position, id, team_id, kind, agent_id, at from event
    where team_id = $4 and (position, id) > ($1, $2) and position < (select event_horizon())
        and ($5::text[] is null or kind = any($5)) and ($6::uuid is null or agent_id = $6)
    order by position, id limit $3
) as event on true
"""
_STATE = f"""
select end_position, end_id, floor, shift + pg_snapshot_xmax(pg_current_snapshot())::text::bigint as future,
    (select coalesce(max(position), 0) from event) as newest
from event_clock, ({END}) as ending
"""


async def tail(database: Database, after: Place, limit: int) -> Batch:
    """All teams' events behind a place."""
    found = await database.fetch(_TAIL, *after, limit)
    rows = [_event(row) for row in found if row["ready"]]
    through = rows[-1].place if rows else after
    return Batch(rows, through, full=len(rows) == limit, hidden=len(rows) < len(found))


async def read_topic(database: Database, topic: Topic, after: Place, limit: int) -> Batch:
    kinds = None if topic.kinds is None else [kind.value for kind in topic.kinds]
    found = await database.fetch(_TOPIC, *after, limit, topic.team_id, kinds, topic.agent_id)
    rows = [_event(row) for row in found if row["id"] is not None]
    if len(rows) == limit:
        return Batch(rows, rows[-1].place, full=True)
    # Everything up to the end was looked at, whether or not it matched.
    return Batch(rows, max(after, (found[0]["end_position"], found[0]["end_id"])))


def _event(row: asyncpg.Record) -> EventRow:
    return EventRow(row["position"], row["id"], row["team_id"], row["kind"], row["agent_id"], row["at"])


@dataclass(frozen=True, slots=True)
class LogState:
    """`end`: the last event that can be read. `floor`: the highest position that retention dropped. `future`: above
    every position so far. `mended`: false after a restore, until the clock is lifted above the restored events."""

    end: Place
    floor: int
    future: int
    mended: bool = True


async def log_state(database: Database) -> LogState:
    row = await database.fetchrow(_STATE)
    assert row is not None
    end = (row["end_position"], row["end_id"])
    return LogState(end, row["floor"], row["future"], mended=row["newest"] < row["future"])


def check_cursor(cursor: EventCursor, state: LogState) -> bool:
    """Whether retention has passed the cursor, so that events behind it may be gone; raises InvalidCursor."""
    if cursor.position >= state.future:
        raise InvalidCursor("FUTURE", "This cursor lies in the future: no event has it yet.")
    # Of the transaction at the floor, events behind the cursor's own may be gone as well.
    return (cursor.position, cursor.event_id) < (state.floor, LAST_ID)
