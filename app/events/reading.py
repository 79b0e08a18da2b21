"""Reads the event log in its one order: by position, then by event; only what no running transaction can precede."""

from __future__ import annotations

from dataclasses import dataclass, fields
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
    task_id: UUID | None = None
    parent_task_id: UUID | None = None
    root_task_id: UUID | None = None
    creator_id: UUID | None = None
    former_assignee_id: UUID | None = None
    grandparent_task_id: UUID | None = None
    conversation_id: UUID | None = None
    collaboration_id: UUID | None = None
    consultation_id: UUID | None = None

    @property
    def place(self) -> Place:
        return (self.position, self.id)


@dataclass(frozen=True, slots=True)
class Topic:
    """Which events a stream is about: the team's, or those of one agent, task, tree, party, conversation,
    collaboration or consultation.

    `root_id` is the first task of the task's tree; with it the tasks below `task_id` are followed, too. A party is an
    agent that gives, has or had a task.
    """

    team_id: UUID
    kinds: frozenset[EventKind] | None = None
    agent_id: UUID | None = None
    task_id: UUID | None = None
    root_id: UUID | None = None
    party_id: UUID | None = None
    conversation_id: UUID | None = None
    collaboration_id: UUID | None = None
    consultation_id: UUID | None = None

    def matches(self, row: EventRow) -> bool:
        return (
            row.team_id == self.team_id
            and (self.kinds is None or row.kind in self.kinds)
            and (self.agent_id is None or row.agent_id == self.agent_id)
            and (self.task_id is None or self._has_task(row))
            and (self.party_id is None or self.party_id in (row.agent_id, row.creator_id, row.former_assignee_id))
            and (self.conversation_id is None or row.conversation_id == self.conversation_id)
            and (self.collaboration_id is None or row.collaboration_id == self.collaboration_id)
            and (self.consultation_id is None or row.consultation_id == self.consultation_id)
        )

    def _has_task(self, row: EventRow) -> bool:
        if self.root_id is None:
            return row.task_id == self.task_id
        return self.task_id in (row.task_id, row.parent_task_id, row.grandparent_task_id, row.root_task_id)


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
_COLUMNS = [field.name for field in fields(EventRow)]
_ROW = ", ".join(_COLUMNS)
_TAIL = f"""
select {_ROW}, position < (select event_horizon()) as ready from event
where (position, id) > ($1, $2) order by position, id limit $3
"""


def _topic(*conditions: str) -> str:
    """Each condition is read by its own index, in order and no further than needed; what several find comes once."""
    found = " union ".join(
        f"""(select {_ROW} from event
        where team_id = $4 and (position, id) > ($1, $2) and position < (select event_horizon())
            and ($5::text[] is null or kind = any($5)) and {condition}
        order by position, id limit $3)"""
        for condition in conditions
    )
    return f"""
    select {_ROW}, end_position, end_id from ({END}) as ending left join lateral (
        select {_ROW} from ({found}) as found order by position, id limit $3
    ) as event on true
    """


_OF_TEAM = _topic("true")
_OF_AGENT = _topic("agent_id = $6")
_OF_TASK = _topic("task_id = $6")
_OF_TREE = _topic("root_task_id = $6 and $7 in (task_id, parent_task_id, grandparent_task_id, root_task_id)")
_OF_PARTY = _topic("agent_id = $6", "creator_id = $6", "former_assignee_id = $6")
_OF_CONVERSATION = _topic("conversation_id = $6")
_OF_COLLABORATION = _topic("collaboration_id = $6")
_OF_CONSULTATION = _topic("consultation_id = $6")
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
    sql, arguments = _asked(topic)
    found = await database.fetch(sql, *after, limit, topic.team_id, kinds, *arguments)
    rows = [_event(row) for row in found if row["id"] is not None]
    if len(rows) == limit:
        return Batch(rows, rows[-1].place, full=True)
    # Everything up to the end was looked at, whether or not it matched.
    return Batch(rows, max(after, (found[0]["end_position"], found[0]["end_id"])))


def _asked(topic: Topic) -> tuple[str, list[UUID]]:
    """The narrowest statement for a topic, and its arguments."""
    if topic.party_id is not None:
        return _OF_PARTY, [topic.party_id]
    if topic.conversation_id is not None:
        return _OF_CONVERSATION, [topic.conversation_id]
    if topic.collaboration_id is not None:
        return _OF_COLLABORATION, [topic.collaboration_id]
    if topic.consultation_id is not None:
        return _OF_CONSULTATION, [topic.consultation_id]
    if topic.task_id is not None and topic.root_id is not None:
        return _OF_TREE, [topic.root_id, topic.task_id]
    if topic.task_id is not None:
        return _OF_TASK, [topic.task_id]
    return (_OF_TEAM, []) if topic.agent_id is None else (_OF_AGENT, [topic.agent_id])


def _event(row: asyncpg.Record) -> EventRow:
    return EventRow(*(row[name] for name in _COLUMNS))


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
