"""The one clock that ends what takes too long."""

from __future__ import annotations

import asyncio
import time

import pytest

from graphql_schema.transport.deadlines import Deadlines


async def test_quick_work_answers() -> None:
    assert await Deadlines(5).keep(asyncio.sleep(0, "done")) == "done"


async def test_slow_work_is_ended_in_time() -> None:
    started = time.monotonic()

    with pytest.raises(TimeoutError):
        await Deadlines(0.1).keep(asyncio.sleep(10))

    assert 0.1 <= time.monotonic() - started < 1


async def test_each_is_ended_by_its_own_age() -> None:
    deadlines = Deadlines(0.2)

    async def slow() -> str:
        try:
            return await deadlines.keep(asyncio.sleep(10, "done"))
        except TimeoutError:
            return "late"

    async def quick() -> str:
        await asyncio.sleep(0.15)
        return await deadlines.keep(asyncio.sleep(0.1, "done"))

    assert await asyncio.gather(slow(), quick()) == ["late", "done"]


async def test_a_cancellation_from_outside_stays_one() -> None:
    task = asyncio.create_task(Deadlines(5).keep(asyncio.sleep(10)))
    await asyncio.sleep(0)
    task.cancel()

    with pytest.raises(asyncio.CancelledError):
        await task


async def test_after_a_timeout_the_task_can_go_on() -> None:
    deadlines = Deadlines(0.05)
    with pytest.raises(TimeoutError):
        await deadlines.keep(asyncio.sleep(10))

    assert await deadlines.keep(asyncio.sleep(0, "done")) == "done"
