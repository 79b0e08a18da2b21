"""The pool of read connections: served in order, bounded, and none lost to an accident."""

from __future__ import annotations

import asyncio
from uuid import uuid4

import pytest

from app.db.read_pool import ReadPool
from app.db.reader import STREAMS, Reader, reading_for


class FakeConnection:
    closed = False

    def is_closed(self) -> bool:
        return self.closed

    def terminate(self) -> None:
        self.closed = True


async def connect() -> FakeConnection:
    await asyncio.sleep(0)
    return FakeConnection()


def pool_of(size: int, *, patience_s: float = 5.0, idle_s: float = 60.0) -> ReadPool:
    return ReadPool(connect, size, patience_s=patience_s, idle_s=idle_s)


async def test_a_connection_given_back_is_used_again() -> None:
    pool = pool_of(2)
    first = await pool.take()
    pool.give_back(first)

    assert await pool.take() is first


async def test_who_waits_is_served_in_order() -> None:
    pool = pool_of(1)
    held, served = await pool.take(), []

    async def read(name: str) -> None:
        connection = await pool.take()
        served.append(name)
        pool.give_back(connection)

    tasks = [asyncio.create_task(read(name)) for name in "abc"]
    await asyncio.sleep(0)
    pool.give_back(held)
    await asyncio.gather(*tasks)

    assert served == ["a", "b", "c"]


async def test_waiting_ends_with_a_timeout_and_the_pool_goes_on() -> None:
    pool = pool_of(1, patience_s=0.02)
    held = await pool.take()

    with pytest.raises(TimeoutError):
        await pool.take()
    pool.give_back(held)

    assert await pool.take() is held


async def test_a_dead_connection_makes_room_for_who_waits() -> None:
    pool = pool_of(1)
    dead = await pool.take()
    waiting = asyncio.create_task(pool.take())
    await asyncio.sleep(0)

    dead.terminate()
    pool.give_back(dead)

    assert await waiting is not dead


async def test_a_failed_connect_makes_room_for_who_waits() -> None:
    failing = asyncio.Event()

    async def connect_once() -> FakeConnection:
        if not failing.is_set():
            failing.set()
            await asyncio.sleep(0.01)
            raise ConnectionRefusedError
        return FakeConnection()

    pool = ReadPool(connect_once, 1, patience_s=5, idle_s=60)
    first = asyncio.create_task(pool.take())
    await failing.wait()
    second = asyncio.create_task(pool.take())

    with pytest.raises(ConnectionRefusedError):
        await first
    assert isinstance(await second, FakeConnection)


async def test_one_cancelled_as_its_turn_comes_passes_the_connection_on() -> None:
    pool = pool_of(1)
    held = await pool.take()
    cancelled, next_one = asyncio.create_task(pool.take()), asyncio.create_task(pool.take())
    await asyncio.sleep(0)

    pool.give_back(held)
    cancelled.cancel()

    assert await next_one is held
    assert cancelled.cancelled()


async def test_an_old_idle_connection_is_replaced() -> None:
    pool = pool_of(1, idle_s=0)
    old = await pool.take()
    pool.give_back(old)

    assert await pool.take() is not old
    assert old.closed


async def test_dropping_the_free_ones_leaves_room_for_new_ones() -> None:
    pool = pool_of(1)
    old = await pool.take()
    pool.give_back(old)

    pool.drop_free()

    assert old.closed
    assert await pool.take() is not old


async def take_as(pool: ReadPool, reader: Reader, count: int) -> list[FakeConnection]:
    """As many of `count` connections as this reader gets without waiting."""
    with reading_for(reader):
        tasks = [asyncio.create_task(pool.take()) for _ in range(count)]
    for _ in range(5):
        await asyncio.sleep(0)
    for task in tasks:
        task.cancel()
    results = await asyncio.gather(*tasks, return_exceptions=True)
    return [connection for connection in results if isinstance(connection, FakeConnection)]


async def test_each_who_comes_finds_a_connection_however_greedy_the_others_are() -> None:
    pool, teams = pool_of(10), [uuid4() for _ in range(3)]

    taken = [len(await take_as(pool, Reader(team, "key"), 20)) for team in teams]

    assert taken == [5, 3, 1]
    assert len(await take_as(pool, Reader(uuid4(), "key"), 1)) == 1


async def test_keys_of_a_team_and_its_streams_share_what_the_team_gets() -> None:
    pool, team = pool_of(10), uuid4()

    assert len(await take_as(pool, Reader(team, STREAMS, 3), 20)) == 3
    assert len(await take_as(pool, Reader(team, "one"), 20)) == 4
    assert len(await take_as(pool, Reader(team, "two"), 20)) == 0
    assert len(await take_as(pool, Reader(uuid4(), "other"), 20)) == 2


async def test_what_is_given_back_goes_to_each_team_in_turn() -> None:
    pool, greedy, patient, served = pool_of(1), Reader(uuid4(), "key"), Reader(uuid4(), "key"), []
    held = await pool.take()

    async def read(reader: Reader, name: str) -> None:
        with reading_for(reader):
            connection = await pool.take()
        served.append(name)
        pool.give_back(connection)

    readers = ((greedy, "greedy 1"), (greedy, "greedy 2"), (greedy, "greedy 3"), (patient, "patient"))
    tasks = [asyncio.create_task(read(reader, name)) for reader, name in readers]
    await asyncio.sleep(0)
    pool.give_back(held)
    await asyncio.gather(*tasks)

    assert served == ["greedy 1", "patient", "greedy 2", "greedy 3"]
