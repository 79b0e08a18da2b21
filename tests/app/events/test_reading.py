"""The log's one order, read by many while many write; and its readers' places, which outlive a crash."""

from __future__ import annotations

import asyncio
import random
import re
from collections.abc import AsyncIterator
from typing import Any
from uuid import UUID

import asyncpg
import pytest
from sqlalchemy import text
from sqlalchemy.event import listen

from app.config import load_settings
from app.db.engine import Database
from app.db.transaction import Transactions
from app.dev.postgres import EmbeddedPostgres
from app.errors import AppError
from app.events.cursor import LAST_ID, EventCursor, InvalidCursor, decode
from app.events.kinds import EventKind
from app.events.log import SYSTEM, append, own_cursor
from app.events.reading import EventRow, Place, Topic, _asked, log_state, read_topic, tail
from app.events.subject import TaskSubject
from app.ids import new_id
from app.upgrade import upgrade

TEAM = new_id()


class Undone(AppError):
    pass


async def say(transaction: Transactions, *numbers: int, pause_s: float = 0, undo: bool = False) -> EventCursor:
    async with transaction() as session:
        for number in numbers:
            event = append(session, EventKind.AGENT_UPDATED, team_id=TEAM, actor=SYSTEM, changes={"n": number})
        await session.flush()
        cursor = EventCursor(event.position, event.id, TEAM)
        await asyncio.sleep(pause_s)
        if undo:
            raise Undone("undone")
    return cursor


async def test_readers_see_all_once_in_one_order(database: Database, transaction: Transactions) -> None:
    """Eight writers that pause before they commit or roll back; readers that look at any moment."""
    written: set[int] = set()
    writing = True

    async def write(first: int) -> None:
        for number in range(first, first + 40):
            undo = random.random() < 0.3
            try:
                await say(transaction, number, pause_s=random.random() / 50, undo=undo)
            except Undone:
                continue
            written.add(number)

    async def read() -> list[UUID]:
        place, seen = (0, LAST_ID), list[UUID]()
        while True:
            last_look = not writing
            batch = await tail(database, place, random.randint(1, 20))
            place = batch.through
            seen += [row.id for row in batch.rows]
            if last_look and not batch.rows and not batch.hidden:
                return seen
            await asyncio.sleep(random.random() / 200)

    readers = [asyncio.create_task(read()) for _ in range(5)]
    await asyncio.gather(*(write(1000 * writer) for writer in range(8)))
    writing = False
    seen = await asyncio.gather(*readers)

    stored = await database.fetch("select id, (changes->>'n')::int as n from event order by position, id")
    assert seen[0] == [row["id"] for row in stored]
    assert all(each == seen[0] for each in seen)
    assert {row["n"] for row in stored} == written


async def test_the_events_of_one_flush_go_out_in_one_statement(database: Database, transaction: Transactions) -> None:
    statements: list[str] = []

    def note(connection: Any, cursor: Any, statement: str, *rest: Any) -> None:
        statements.append(statement)

    listen(database.engine.sync_engine, "before_cursor_execute", note)
    await say(transaction, *range(20))

    assert [one.split()[:3] for one in statements] == [["INSERT", "INTO", "event"]]
    stored = await database.fetch("select (changes->>'n')::int as n from event order by position, id")
    assert [row["n"] for row in stored] == list(range(20))


async def test_a_place_is_that_of_a_committed_event(database: Database, transaction: Transactions) -> None:
    """A rolled back transaction moves nobody, for a crash may give its id to another one."""
    cursor = await say(transaction, 1)
    place = (cursor.position, cursor.event_id)
    for _ in range(3):
        with pytest.raises(Undone):
            await say(transaction, 2, undo=True)
    while (state := await log_state(database)).end != place:  # noqa: ASYNC110  other tests hide events, too
        await asyncio.sleep(0.01)
    async with transaction() as session:
        silent = await own_cursor(session, TEAM)
    topic = await read_topic(database, Topic(TEAM), (0, LAST_ID), 10)
    other = await read_topic(database, Topic(new_id()), (0, LAST_ID), 10)

    assert state.end == place
    assert topic.through == other.through == place
    assert (silent.position, silent.event_id) == place


async def test_an_empty_log_ends_at_its_floor(database: Database, transaction: Transactions) -> None:
    async with transaction() as session:
        cursor = await own_cursor(session, TEAM)

    assert (await log_state(database)).end == (0, LAST_ID) == (cursor.position, cursor.event_id)


async def test_memory_and_log_agree_on_who_is_told(database: Database, transaction: Transactions) -> None:
    """Random events of few tasks and agents; each topic is replayed in pages of any size."""
    tasks, agents = [new_id() for _ in range(4)], [new_id() for _ in range(4)]
    async with transaction() as session:
        for number in range(300):
            root, above, parent, task = random.choices(tasks, k=4)
            former = random.choice([None, random.choice(agents)])
            creator = random.choice([None, *agents])
            subject = TaskSubject(
                task, root, random.choice([None, parent]), random.choice([None, above]), creator, former
            )
            append(
                session,
                random.choice([EventKind.TASK_CREATED, EventKind.AGENT_UPDATED]),
                team_id=TEAM,
                actor=SYSTEM,
                agent_id=random.choice([None, *agents]),
                task=random.choice([None, subject, subject]),
                conversation_id=random.choice([None, tasks[0], tasks[1]]),
                collaboration_id=random.choice([None, tasks[0], tasks[1]]),
                changes={"n": number},
            )
    topics = [
        Topic(TEAM),
        Topic(TEAM, frozenset({EventKind.TASK_CREATED}), agent_id=agents[0]),
        Topic(TEAM, task_id=tasks[0]),
        *(Topic(TEAM, task_id=tasks[0], root_id=root) for root in tasks),
        Topic(TEAM, party_id=agents[0]),
        Topic(TEAM, frozenset({EventKind.TASK_CREATED}), party_id=agents[0]),
        Topic(TEAM, conversation_id=tasks[0]),
        Topic(TEAM, frozenset({EventKind.TASK_CREATED}), collaboration_id=tasks[1]),
        Topic(new_id(), task_id=tasks[0]),
    ]
    while (batch := await tail(database, (0, LAST_ID), 1000)).hidden:  # noqa: ASYNC110  other tests hide events, too
        await asyncio.sleep(0.01)

    for topic in topics:
        # Random rows contradict themselves: in a real log whatever is below a task has the root of its tree.
        expected = [row for row in batch.rows if topic.matches(row) and topic.root_id in (None, row.root_task_id)]
        assert await _replayed(database, topic) == expected
        assert bool(expected) == (topic.team_id == TEAM)


async def _replayed(database: Database, topic: Topic) -> list[EventRow]:
    place, found, full = (0, LAST_ID), list[EventRow](), True
    while full:
        batch = await read_topic(database, topic, place, random.randint(1, 40))
        place, full = batch.through, batch.full
        found += batch.rows
    return found


async def test_a_replay_reads_by_its_own_index(database: Database, transaction: Transactions) -> None:
    """Given a log of others' events, each topic is found without reading them."""
    async with transaction() as session:
        await session.execute(
            text(
                "insert into event (id, team_id, kind, actor, agent_id, task_id, root_task_id, creator_id, "
                "former_assignee_id) select gen_random_uuid(), :team, 'task.created', 'x', gen_random_uuid(), "
                "gen_random_uuid(), gen_random_uuid(), gen_random_uuid(), null from generate_series(1, 5000)"
            ),
            {"team": TEAM},
        )
        await session.execute(text("analyze event"))
    any_id = new_id()
    expected = {
        Topic(TEAM, agent_id=any_id): {"agent_id"},
        Topic(TEAM, task_id=any_id): {"task_id"},
        Topic(TEAM, task_id=any_id, root_id=any_id): {"root_task_id"},
        Topic(TEAM, party_id=any_id): {"agent_id", "creator_id", "former_assignee_id"},
    }

    for topic, columns in expected.items():
        sql, arguments = _asked(topic)
        plan = await database.fetch(f"explain {sql}", 0, LAST_ID, 100, TEAM, None, *arguments)
        used = set(re.findall(r"Index Cond: \(\(?(\w+_id) = ", "\n".join(row[0] for row in plan)))
        assert used == columns, "\n".join(row[0] for row in plan)


@pytest.fixture
async def crashing(own_postgres: EmbeddedPostgres) -> AsyncIterator[tuple[Database, Transactions]]:
    await asyncio.to_thread(upgrade, own_postgres.url())
    database = Database(load_settings(DATABASE_URL=own_postgres.url()))
    connection = await asyncpg.connect(own_postgres.url())
    # What no commit waits for stays in memory meanwhile.
    await connection.execute("alter system set wal_writer_delay = '10s'")
    await connection.execute("select pg_reload_conf()")
    await connection.close()

    async def silent(_: list[Any]) -> None:
        return

    yield database, Transactions(database, silent)
    await database.close()


async def test_nothing_is_missed_when_a_crash_hands_out_transaction_ids_again(
    own_postgres: EmbeddedPostgres, crashing: tuple[Database, Transactions]
) -> None:
    database, transaction = crashing
    await say(transaction, 1)
    with pytest.raises(Undone):
        await say(transaction, 2, undo=True)
    place: Place = (await log_state(database)).end
    lost = await database.fetchval("select pg_snapshot_xmax(pg_current_snapshot())::text::bigint")

    own_postgres.kill()
    own_postgres.start()
    cursor = await _patiently(transaction)
    batch = await tail(database, place, 10)

    assert cursor.position < lost  # the id was used before, by one that left no trace
    assert [row.id for row in batch.rows] == [cursor.event_id]


async def _patiently(transaction: Transactions) -> EventCursor:
    for _ in range(50):
        try:
            return await say(transaction, 3)
        except AppError:
            await asyncio.sleep(0.1)
    raise AssertionError


def test_cursors_are_opaque_and_their_own() -> None:
    cursor = EventCursor(7, new_id(), TEAM)

    assert decode(cursor.encode(), TEAM) == cursor
    for wrong, reason in ((cursor.encode()[:-1], "MALFORMED"), ("", "MALFORMED"), (cursor.encode() + "A", "MALFORMED")):
        with pytest.raises(InvalidCursor) as refused:
            decode(wrong, TEAM)
        assert refused.value.details == {"reason": reason}
    with pytest.raises(InvalidCursor) as refused:
        decode(cursor.encode(), UUID(int=1))
    assert refused.value.details == {"reason": "OTHER_TEAM"}
