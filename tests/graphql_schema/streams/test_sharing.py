"""Identical subscriptions are executed once per event, whatever their number; others by themselves."""

from __future__ import annotations

from contextlib import AsyncExitStack

from app.auth.roles import Role
from tests.fixtures.parley import Parley
from tests.fixtures.streams import TEAM_EVENTS, Connect, SocketClient, Writer


async def follow(socket: SocketClient, query: str, after: str, name: str = "1") -> None:
    await socket.subscribe(query, {"after": after}, id=name)
    await socket.caught_up(name)


async def test_fifty_identical_subscribers_cost_one_execution_per_event(
    parley: Parley, connect: Connect, writer: Writer, statements: list[str]
) -> None:
    """Their sockets, keys and starting points differ; the operation and the rights are the same."""
    starts = [await writer.say(-1), await writer.say(-1)]
    await writer.settle()
    async with AsyncExitStack() as stack:
        sockets = [await stack.enter_async_context(connect(role=Role.ADMIN)) for _ in range(50)]
        for turn, socket in enumerate(sockets):
            await follow(socket, TEAM_EVENTS, starts[turn % 2])
        statements.clear()

        for number in range(5):
            await writer.say(number)
            for socket in sockets:
                assert await socket.numbers(1) == [number]

    assert len([sql for sql in statements if "changes" in sql]) == 5


async def test_distinct_subscribers_are_executed_separately(
    parley: Parley, connect: Connect, writer: Writer, statements: list[str]
) -> None:
    start = await writer.say(-1)
    await writer.settle()
    async with connect(role=Role.ADMIN) as admin, connect(role=Role.ANALYST) as analyst:
        await follow(admin, TEAM_EVENTS, start)
        await follow(admin, TEAM_EVENTS, start, "same")
        await follow(admin, TEAM_EVENTS.replace("kind changes", "changes kind"), start, "other words")
        await follow(analyst, TEAM_EVENTS, start)
        statements.clear()

        await writer.say(1)
        for socket, name in ((admin, "1"), (admin, "same"), (admin, "other words"), (analyst, "1")):
            assert await socket.numbers(1, name) == [1]

    assert len([sql for sql in statements if "changes" in sql]) == 3
