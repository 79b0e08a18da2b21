"""Joining a shared stream at the moments when something could slip through, one by one."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest

from app.events.cursor import LAST_ID
from app.events.kinds import EventKind
from app.events.reading import EventRow, Place, Topic
from graphql_schema.streams import stream as streams
from graphql_schema.streams.stream import SharedStream
from graphql_schema.streams.subscriber import Subscriber

TEAM = UUID(int=1)


def row(position: int) -> EventRow:
    return EventRow(position, UUID(int=position), TEAM, EventKind.AGENT_UPDATED, None, datetime.now(UTC))


class SlowRendering:
    """Renders an event as its position, when it is let."""

    def __init__(self) -> None:
        self.go = asyncio.Event()

    async def events(self, rows: list[EventRow]) -> list[tuple[Place, bytes]]:
        await self.go.wait()
        return [(each.place, b"%d" % each.position) for each in rows]


class Basket:
    ready = True

    def __init__(self) -> None:
        self.taken: list[bytes] = []

    def push(self, payloads: list[bytes]) -> None:
        self.taken += payloads


class Scene:
    def __init__(self) -> None:
        self.rendering = SlowRendering()
        self.through: Place = (0, LAST_ID)
        parts: Any = (Topic(TEAM), self.rendering, None, lambda: self.through, lambda: None)
        self.stream = SharedStream(*parts)

    def member(self, place: Place) -> Subscriber:
        basket: Any = Basket()
        subscriber = Subscriber(self.stream, basket, place)
        self.stream.enter(subscriber)
        return subscriber

    def tail(self, *positions: int) -> None:
        """What the tailer does with new events."""
        self.stream.offer([row(position) for position in positions], self.through)
        self.through = row(positions[-1]).place

    async def finish(self) -> None:
        self.rendering.go.set()
        while self.stream._work is not None:  # noqa: ASYNC110
            await asyncio.sleep(0)


@pytest.fixture
async def scene() -> AsyncIterator[Scene]:
    made = Scene()
    yield made
    for subscriber in list(made.stream._members):
        subscriber.close()


async def test_what_comes_while_nobody_is_live_reaches_one_who_joins_before_the_work_ends(scene: Scene) -> None:
    first, second = scene.member((0, LAST_ID)), scene.member((0, LAST_ID))
    scene.stream.go_live(first)
    scene.tail(1)
    await asyncio.sleep(0)
    first.close()
    second.place = row(1).place  # it has read the log before 2 was committed
    scene.tail(2)

    assert scene.stream.place <= second.place  # so it may join
    scene.stream.go_live(second)
    await scene.finish()

    assert second.sink.taken == [b"2"]


async def test_nobody_joins_behind_a_backlog_that_was_given_up(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "MOST_BACKLOG", 1)
    fallen: list[Subscriber] = []
    monkeypatch.setattr(Subscriber, "catch_up", lambda subscriber: fallen.append(subscriber))
    live, reading = scene.member((0, LAST_ID)), scene.member(row(1).place)
    scene.stream.go_live(live)
    scene.tail(1)
    await asyncio.sleep(0)

    scene.tail(2, 3)

    assert fallen == [live]
    assert scene.stream.place > reading.place  # it has to read 2 and 3 from the log first
    await scene.finish()
    assert scene.stream.place >= row(3).place


async def test_one_ahead_of_the_stream_gets_only_what_it_has_not(scene: Scene) -> None:
    ahead, behind = scene.member(row(2).place), scene.member((0, LAST_ID))
    for subscriber in (ahead, behind):
        scene.stream.go_live(subscriber)
    scene.tail(1, 2, 3)
    await scene.finish()

    assert ahead.sink.taken == [b"3"]
    assert behind.sink.taken == [b"1", b"2", b"3"]
