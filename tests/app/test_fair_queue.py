"""Teams take turns, and within a team its keys."""

from __future__ import annotations

import asyncio

from app.fair_queue import FairQueue
from app.fair_turns import FairTurns


def taken(queue: FairQueue[str]) -> list[str]:
    items = []
    while item := queue.pop(lambda _: True):
        items.append(item)
    return items


def test_teams_and_keys_take_turns() -> None:
    queue: FairQueue[str] = FairQueue()
    for number in range(3):
        queue.push("a", "a1", f"a1-{number}")
    queue.push("a", "a2", "a2-0")
    queue.push("b", "b1", "b1-0")
    queue.push("b", "b1", "b1-1")

    assert queue.count("a") == 4
    assert taken(queue) == ["a1-0", "b1-0", "a2-0", "b1-1", "a1-1", "a1-2"]
    assert len(queue) == 0
    assert queue.count("a") == 0


def test_whoever_may_not_go_is_passed_over_and_keeps_the_place() -> None:
    queue: FairQueue[str] = FairQueue()
    for team, item in (("a", "a-0"), ("a", "a-1"), ("b", "b-0")):
        queue.push(team, team, item)

    assert queue.pop(lambda item: item.startswith("b")) == "b-0"
    assert queue.pop(lambda item: item.startswith("b")) is None
    assert taken(queue) == ["a-0", "a-1"]


async def test_turn_of_one_who_left_goes_to_the_next() -> None:
    turns, order = FairTurns(), []

    async def work(name: str) -> None:
        await turns.take(name, name)
        order.append(name)
        turns.release()

    await turns.take("first", "first")
    waiting = [asyncio.create_task(work(name)) for name in ("leaves", "stays")]
    await asyncio.sleep(0)
    assert turns.waiting("stays") == 1
    turns.release()
    waiting[0].cancel()
    await asyncio.gather(*waiting, return_exceptions=True)

    assert order == ["stays"]
    await turns.take("last", "last")  # nobody holds the turn
