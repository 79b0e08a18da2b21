"""Cursors that a stream cannot start from, and those that retention has passed."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

from sqlalchemy import text

from app.clock import now
from app.events import partitions
from app.events.cursor import LAST_ID, EventCursor
from tests.fixtures.parley import Parley
from tests.fixtures.streams import TEAM_EVENTS, Connect, SocketClient, Writer


async def refusal(socket: SocketClient, cursor: Any) -> dict[str, Any]:
    name = str(uuid4())
    await socket.subscribe(TEAM_EVENTS, {"after": cursor}, id=name)
    message = await socket.receive(name)
    assert message["type"] == "error", message
    return dict(message["payload"][0]["extensions"])


async def test_malformed(connect: Connect) -> None:
    async with connect() as socket:
        for cursor in ("", "x", "!!!!", "AAAA", "A" * 39, "é" * 20, "A" * 5000, 7, {}, []):
            assert await refusal(socket, cursor) == {"code": "INVALID_CURSOR", "reason": "MALFORMED"}


async def test_of_another_team(parley: Parley, connect: Connect, writer: Writer) -> None:
    cursor = await writer.say(1, team=parley.other)

    async with connect() as socket:
        assert await refusal(socket, cursor) == {"code": "INVALID_CURSOR", "reason": "OTHER_TEAM"}


async def test_of_the_future(parley: Parley, connect: Connect) -> None:
    async with connect() as socket:
        for position in (2**62, 2**63 - 1):
            cursor = EventCursor(position, LAST_ID, parley.home.id).encode()

            assert await refusal(socket, cursor) == {"code": "INVALID_CURSOR", "reason": "FUTURE"}


async def test_older_than_retention_says_so_and_goes_on(parley: Parley, connect: Connect, writer: Writer) -> None:
    """Given four old events in two transactions, dropped with their partition, and one that stays."""
    long_ago = datetime(2025, 3, 5, tzinfo=UTC)
    async with writer.transaction() as session:
        await partitions.ensure(session, long_ago)
    old = [await _old(writer, number, long_ago) for number in (1, 2)]
    async with writer.transaction() as session:
        dropped = await partitions.drop_expired(session, now(), 30)
    await writer.say(3)
    await writer.settle()

    seen = {}
    async with connect() as socket:
        for place, cursor in enumerate(old):
            await socket.subscribe(TEAM_EVENTS, {"after": cursor}, id=str(place))
            seen[place] = [await socket.item(str(place)) for _ in range(3)]
        gap = seen[0][0]
        await socket.subscribe(TEAM_EVENTS, {"after": gap["cursor"]}, id="behind")
        behind = [await socket.item("behind") for _ in range(2)]

    assert "event_p20250303" in dropped
    for items in seen.values():
        assert [item["__typename"] for item in items] == ["Gap", "Event", "CaughtUp"]
        assert items[1]["changes"] == {"n": 3}
    assert gap["message"]
    assert [item["__typename"] for item in behind] == ["Event", "CaughtUp"]


async def _old(writer: Writer, number: int, at: datetime) -> str:
    cursor = await writer.say(number)
    async with writer.transaction() as session:
        when = {"at": at + timedelta(hours=number), "n": str(number)}
        await session.execute(text("update event set at = :at where changes->>'n' = :n"), when)
    return cursor
