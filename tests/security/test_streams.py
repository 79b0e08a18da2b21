"""Attacks by subscriptions that differ in nothing but a name: each is rendered by itself for every event."""

from __future__ import annotations

from contextlib import AsyncExitStack

from app.auth.roles import Role
from app.events.kinds import EventKind
from app.events.log import SYSTEM, append
from tests.fixtures.attack import Target
from tests.fixtures.streams import SocketClient, connected

PER_SOCKET = 100
PER_KEY = 250
EVENTS = 3


async def open_streams(socket: SocketClient, first: int) -> list[str]:
    """The types of the first messages of so many subscriptions, each under a name of its own."""
    for number in range(PER_SOCKET):
        query = f"subscription {{ teamEvents {{ ... on Event {{ a{first + number}: kind }} __typename }} }}"
        await socket.subscribe(query, id=str(number))
    return [(await socket.receive(str(number)))["type"] for number in range(PER_SOCKET)]


async def test_many_different_subscriptions(target: Target) -> None:
    secret = target.attacker.secrets[Role.ANALYST]
    async with AsyncExitStack() as stack:
        sockets = []
        for _ in range(3):
            socket = await stack.enter_async_context(connected(target.installation.server.socket_url))
            await socket.init(secret)
            sockets.append(socket)
        answers = [await open_streams(socket, at * PER_SOCKET) for at, socket in enumerate(sockets)]

        assert sum(types.count("next") for types in answers) == PER_KEY
        assert sum(types.count("error") for types in answers) == 3 * PER_SOCKET - PER_KEY
        async with target.watched():
            await emit_events(target)
            for socket, types in zip(sockets, answers, strict=True):
                for number in [number for number, kind in enumerate(types) if kind == "next"]:
                    for _ in range(EVENTS):
                        assert (await socket.item(str(number)))["__typename"] == "Event"


async def test_refusal_of_one_more_subscription_names_the_setting(target: Target) -> None:
    secret = target.attacker.secrets[Role.ANALYST]
    async with AsyncExitStack() as stack:
        for at in range(3):
            socket = await stack.enter_async_context(connected(target.installation.server.socket_url))
            await socket.init(secret)
            await open_streams(socket, 1_000 + at * PER_SOCKET)
        await socket.send({"id": "0", "type": "complete"})
        await socket.subscribe("subscription { teamEvents { ... on Event { last: kind } } }", id="one more")
        accepted = await socket.receive("one more")
        await socket.subscribe("subscription { teamEvents { ... on Event { more: kind } } }", id="too many")
        refused = await socket.receive("too many")

    assert accepted["type"] == "next"
    assert refused["payload"][0]["extensions"]["setting"] == "PARLEY_MAX_STREAMS_PER_KEY"


async def emit_events(target: Target) -> None:
    for _ in range(EVENTS):
        async with target.installation.transaction() as session:
            append(session, EventKind.AGENT_UPDATED, team_id=target.attacker.id, actor=SYSTEM)
