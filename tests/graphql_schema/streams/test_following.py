"""Replay, the marker, live: what a subscriber sees, in which order, once."""

from __future__ import annotations

import asyncio
import random
import time

import asyncpg
import pytest

from app.auth.roles import Role
from app.events.kinds import EventKind
from app.ids import Prefix, to_global
from tests.fixtures.parley import Parley
from tests.fixtures.streams import TEAM_EVENTS, Connect, Writer

AGENT_EVENTS = """
subscription ($agent: ID!, $after: Cursor) {
  agentEvents(agentId: $agent, after: $after) { __typename ... on Event { kind changes } }
}
"""
PYTHON_FIELD = """
subscription ($after: Cursor) {
  teamEvents(after: $after) {
    __typename
    ... on Event { changes agent { slug team { featureFlags { flag enabled } } } }
  }
}
"""


async def test_without_a_cursor_the_stream_starts_now(connect: Connect, writer: Writer) -> None:
    await writer.say(1)
    await writer.settle()
    async with connect() as socket:
        await socket.subscribe(TEAM_EVENTS)
        first = await socket.item()
        await writer.say(2, 3)

        assert first["__typename"] == "CaughtUp"
        assert await socket.numbers(2) == [2, 3]


async def test_replay_then_marker_then_live(connect: Connect, writer: Writer) -> None:
    start = await writer.say(0)
    for number in range(1, 251):  # more than two batches of the replay
        await writer.say(number)
    await writer.settle()

    async with connect() as socket:
        await socket.subscribe(TEAM_EVENTS, {"after": start})
        items = [await socket.item() for _ in range(251)]
        await writer.say(251)

        assert [item["changes"]["n"] for item in items[:250]] == list(range(1, 251))
        assert items[250]["__typename"] == "CaughtUp"
        assert items[250]["cursor"] == items[249]["cursor"]
        assert await socket.numbers(1) == [251]


async def test_each_cursor_resumes_exactly_behind_itself(connect: Connect, writer: Writer) -> None:
    start = await writer.say(0)
    await writer.say(1, 2, 3)
    await writer.say(4)
    await writer.settle()
    async with connect() as socket:
        await socket.subscribe(TEAM_EVENTS, {"after": start})
        cursors = [(await socket.item())["cursor"] for _ in range(5)]

        for place, cursor in enumerate(cursors[:4]):
            name = f"from {place}"
            await socket.subscribe(TEAM_EVENTS, {"after": cursor}, id=name)

            assert await socket.numbers(3 - place, name) == list(range(place + 2, 5))
            assert (await socket.item(name))["__typename"] == "CaughtUp"


async def test_kinds_choose(connect: Connect, writer: Writer) -> None:
    start = await writer.say(0)
    await writer.say(1, kind=EventKind.AGENT_PAUSED)
    await writer.say(2)
    await writer.settle()
    async with connect() as socket:
        await socket.subscribe(TEAM_EVENTS, {"after": start, "kinds": ["AGENT_PAUSED", "AGENT_RESUMED"]})
        replayed = await socket.item()
        await socket.caught_up()
        await writer.say(3)
        await writer.say(4, kind=EventKind.AGENT_RESUMED)

        assert (replayed["kind"], replayed["changes"]) == ("AGENT_PAUSED", {"n": 1})
        assert await socket.numbers(1) == [4]


async def test_no_kinds_at_all_is_a_stream_without_events(connect: Connect, writer: Writer) -> None:
    start = await writer.say(0)
    await writer.say(1)
    await writer.settle()
    async with connect() as socket:
        await socket.subscribe(TEAM_EVENTS, {"after": start, "kinds": []})

        assert (await socket.item())["__typename"] == "CaughtUp"


async def test_a_team_sees_nothing_of_another(parley: Parley, connect: Connect, writer: Writer) -> None:
    starts = [await writer.say(0), await writer.say(0, team=parley.other)]
    await writer.settle()
    async with connect() as home, connect(secret=parley.other.secrets[Role.ADMIN]) as other:
        for socket, start in zip((home, other), starts, strict=True):
            await socket.subscribe(TEAM_EVENTS, {"after": start})
            await socket.caught_up()
        await writer.say(1, team=parley.other)
        await writer.say(2)
        await writer.say(3, team=parley.other)

        assert await home.numbers(1) == [2]
        assert await other.numbers(2) == [1, 3]


async def test_the_events_of_one_agent(parley: Parley, connect: Connect, writer: Writer) -> None:
    start = await writer.say(0)
    await writer.say(1, agent_id=parley.home.kyra.id)
    await writer.say(2)
    await writer.settle()
    async with connect(role=Role.ANALYST) as socket:
        await socket.subscribe(AGENT_EVENTS, {"agent": parley.home.agent_id, "after": start})
        assert await socket.numbers(1) == [2]
        assert (await socket.item())["__typename"] == "CaughtUp"
        await writer.say(3, agent_id=parley.home.kyra.id)
        await writer.say(4)

        assert await socket.numbers(1) == [4]


async def test_an_agents_key_follows_that_agent_alone(parley: Parley, connect: Connect, writer: Writer) -> None:
    kyra = to_global(Prefix.AGENT, parley.home.kyra.id)
    async with connect(role=Role.AGENT) as socket:
        await socket.subscribe(AGENT_EVENTS, {"agent": kyra}, id="kyra")
        await socket.subscribe(TEAM_EVENTS, id="team")
        await socket.subscribe(AGENT_EVENTS, {"agent": parley.home.agent_id}, id="own")
        refused = [await socket.receive("kyra"), await socket.receive("team")]
        await socket.caught_up("own")
        await writer.say(1)

        assert [(message["type"], message["payload"][0]["extensions"]["code"]) for message in refused] == [
            ("error", "FORBIDDEN"),
            ("error", "FORBIDDEN"),
        ]
        assert await socket.numbers(1, "own") == [1]


async def test_agents_that_cannot_be_followed(parley: Parley, connect: Connect) -> None:
    expected = {
        parley.other.agent_id: "NOT_FOUND",
        to_global(Prefix.TEAM, parley.home.id): "INVALID_INPUT",
        "x": "INVALID_INPUT",
    }
    async with connect() as socket:
        for agent, code in expected.items():
            await socket.subscribe(AGENT_EVENTS, {"agent": agent}, id=agent)
            message = await socket.receive(agent)

            assert (message["type"], message["payload"][0]["extensions"]["code"]) == ("error", code)


async def test_a_field_that_needs_python(parley: Parley, connect: Connect, writer: Writer) -> None:
    start = await writer.say(6)
    await writer.settle()
    async with connect() as socket:
        await socket.subscribe(PYTHON_FIELD, {"after": start})
        await socket.caught_up()
        await writer.say(7)

        item = await socket.item()

    flags = item["agent"]["team"]["featureFlags"]
    assert (item["changes"], item["agent"]["slug"]) == ({"n": 7}, "luke")
    assert {"flag": "EXPERT_GATE", "enabled": False} in flags


async def test_commits_while_joining_are_neither_lost_nor_repeated(connect: Connect, writer: Writer) -> None:
    """Subscribers join at every moment of a busy log, half of them as the first of their stream."""
    start = await writer.say(-1)
    total, joined = 250, 30

    async def write() -> None:
        for number in range(total):
            await writer.say(number)
            await asyncio.sleep(random.choice((0, 0, 0.002)))

    async def join(turn: int) -> list[int]:
        async with connect() as socket:
            await asyncio.sleep(turn * 0.02)
            query = TEAM_EVENTS if turn % 2 else TEAM_EVENTS.replace("Follow", f"Follow{turn}")
            await socket.subscribe(query, {"after": start})
            return await socket.numbers(total)

    answers = await asyncio.gather(write(), *map(join, range(joined)))

    assert all(answer == list(range(total)) for answer in answers[1:])


async def test_leaving_and_joining_again_and_again(connect: Connect, writer: Writer) -> None:
    """Streams that lose their last live subscriber while they work must not lose what comes next."""
    cursor = await writer.say(-1)
    seen: list[int] = []
    writing = asyncio.create_task(_write_all(writer, 400))

    async with connect() as socket:
        turn = 0
        while len(seen) < 400:
            turn += 1
            await socket.subscribe(TEAM_EVENTS, {"after": cursor}, id=str(turn))
            for _ in range(random.randint(1, 12)):
                item = await socket.item(str(turn))
                cursor = item["cursor"]
                if item["__typename"] == "Event":
                    seen.append(item["changes"]["n"])
                if len(seen) == 400:
                    break
            await socket.send({"id": str(turn), "type": "complete"})
    await writing

    assert seen == list(range(400))


async def _write_all(writer: Writer, total: int) -> None:
    for number in range(total):
        await writer.say(number)


@pytest.mark.parametrize("ending", ["commit", "rollback"])
async def test_what_an_older_transaction_hides_comes_when_it_ends(
    parley: Parley, connect: Connect, writer: Writer, ending: str
) -> None:
    assert parley.settings.database_url
    older = await asyncpg.connect(parley.settings.database_url)
    start = await writer.say(0)
    await writer.settle()
    async with connect() as socket:
        await socket.subscribe(TEAM_EVENTS, {"after": start})
        await socket.caught_up()
        await older.execute("begin; select pg_current_xact_id()")
        await writer.say(1)
        hidden = await socket.silent(0.4)

        ended = time.monotonic()
        await older.execute(ending)
        came = await socket.numbers(1)
        took = time.monotonic() - ended
    await older.close()

    assert hidden
    assert came == [1]
    assert took < 5  # no bell rings for it, and the next poll is far


async def test_hidden_events_keep_their_place_before_younger_ones(connect: Connect, writer: Writer) -> None:
    start = await writer.say(0)
    await writer.settle()
    async with connect() as socket:
        await socket.subscribe(TEAM_EVENTS, {"after": start})
        await socket.caught_up()
        go = asyncio.Event()
        older = asyncio.create_task(writer.say(1, before_commit=go.wait))
        await asyncio.sleep(0.1)
        await writer.say(2)
        await asyncio.sleep(0.1)
        go.set()
        await older

        assert await socket.numbers(2) == [1, 2]
