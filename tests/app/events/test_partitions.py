"""Partitions are made ahead, dropped behind retention, by as many housekeepers as there are; clocks are mended."""

from __future__ import annotations

import asyncio
from datetime import UTC, date, datetime, timedelta

import asyncpg
import pytest
from sqlalchemy import text

from app.clock import now
from app.config import Settings
from app.db.engine import Database
from app.db.transaction import Transactions
from app.errors import Unavailable
from app.events import partitions
from app.events.cursor import LAST_ID, EventCursor
from app.events.kinds import EventKind
from app.events.log import SYSTEM, append
from app.events.reading import EventRow, Place, check_cursor, log_state, tail
from app.ids import new_id

TEAM = new_id()


def test_expired_are_those_whose_last_day_is_too_old() -> None:
    names = ["event_p20260601", "event_p20260608", "event_p20260615", "event_other"]

    assert partitions.expired(names, date(2026, 7, 8), 30) == ["event_p20260601"]
    assert partitions.expired(names, date(2026, 7, 7), 30) == []
    assert partitions.week_of(date(2026, 6, 7)) == date(2026, 6, 1)


async def test_made_ahead_once_however_many_make_them(transaction: Transactions, database: Database) -> None:
    later = now() + timedelta(days=365)

    async def ensure() -> list[str]:
        async with transaction() as session:
            return await partitions.ensure(session, later)

    made = await asyncio.gather(*(ensure() for _ in range(8)))

    assert sorted(map(len, made)) == [0] * 7 + [10]
    first = partitions.week_of(later.date())
    assert partitions.partition_name(first + timedelta(weeks=8)) in max(made, key=len)


async def test_dropping_raises_the_floor(transaction: Transactions, database: Database) -> None:
    old = datetime(2025, 3, 5, tzinfo=UTC)
    async with transaction() as session:
        await partitions.ensure(session, old)
    dropped_event = await say(transaction, at=old)
    kept = await say(transaction)

    async with transaction() as session:
        gone = await partitions.drop_expired(session, now(), 30)
    async with transaction() as session:
        again = await partitions.drop_expired(session, now(), 30)
    state = await log_state(database)

    assert len(gone) == 10
    assert again == []
    assert state.floor == dropped_event.position
    assert await database.fetchval("select count(*) from event") == 1
    assert check_cursor(dropped_event, state)
    assert not check_cursor(EventCursor(state.floor, LAST_ID, TEAM), state)
    assert not check_cursor(kept, state)


async def test_nobody_queues_for_long_behind_a_housekeeper(
    transaction: Transactions, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(partitions, "_LOCK_PATIENCE_MS", 100)
    assert settings.database_url
    reader = await asyncpg.connect(settings.database_url)
    await reader.execute("begin; select count(*) from event")

    with pytest.raises(Unavailable):
        async with transaction() as session:
            await partitions.ensure(session, now() + timedelta(days=365))
    await reader.close()

    async with transaction() as session:
        assert len(await partitions.ensure(session, now() + timedelta(days=365))) == 10


async def test_a_clock_that_is_right_is_left_alone(transaction: Transactions, database: Database) -> None:
    """However many write meanwhile."""
    stop = asyncio.Event()

    async def write() -> None:
        while not stop.is_set():
            await say(transaction)

    writing = [asyncio.create_task(write()) for _ in range(4)]
    for _ in range(30):
        async with transaction() as session:
            assert await partitions.mend_clock(session) == 0
    stop.set()
    await asyncio.gather(*writing)

    assert await database.fetchval("select shift from event_clock") == 0


async def test_after_a_restore_new_events_come_behind_the_restored(
    transaction: Transactions, database: Database
) -> None:
    restored = await say(transaction)
    far = 10**12
    async with transaction() as session:
        await session.execute(text("update event set position = :far"), {"far": far})
    before = await log_state(database)

    async def mend() -> int:
        async with transaction() as session:
            return await partitions.mend_clock(session)

    lifts = await asyncio.gather(*(mend() for _ in range(4)))
    place = (far, restored.event_id)
    new = await say(transaction)
    after = await log_state(database)

    assert not before.mended
    assert after.mended
    assert sum(1 for lift in lifts if lift) == 1
    assert new.position > far
    assert [row.id for row in await rows_behind(database, place)] == [new.event_id]
    assert not check_cursor(EventCursor(far, restored.event_id, TEAM), after)


async def test_mending_waits_for_writers_under_the_old_clock(transaction: Transactions, database: Database) -> None:
    await say(transaction)
    async with transaction() as session:
        await session.execute(text("update event set position = :far"), {"far": 10**12})
    written, go = asyncio.Event(), asyncio.Event()

    async def slow_writer() -> None:
        async with transaction() as session:
            append(session, EventKind.AGENT_UPDATED, team_id=TEAM, actor=SYSTEM)
            await session.flush()
            written.set()
            await go.wait()

    async def mend() -> int:
        async with transaction() as session:
            return await partitions.mend_clock(session)

    writing = asyncio.create_task(slow_writer())
    await written.wait()
    mending = asyncio.create_task(mend())
    await asyncio.sleep(0.2)
    waited = not mending.done()
    go.set()
    await writing

    assert waited
    assert await mending > 0


async def rows_behind(database: Database, place: Place) -> list[EventRow]:
    """Patiently: transactions in other tests' databases hide events, too."""
    while (batch := await tail(database, place, 10)).hidden:  # noqa: ASYNC110
        await asyncio.sleep(0.01)
    return batch.rows


async def say(transaction: Transactions, at: datetime | None = None) -> EventCursor:
    async with transaction() as session:
        event = append(session, EventKind.AGENT_UPDATED, team_id=TEAM, actor=SYSTEM)
        if at is not None:
            event.at = at
        await session.flush()
        return EventCursor(event.position, event.id, TEAM)
