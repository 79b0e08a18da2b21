"""graphql-transport-ws to the letter: what each message brings, and the code of each close."""

from __future__ import annotations

import asyncio
import hashlib
import json
from typing import Any

import pytest
from websockets.typing import Subprotocol

from app.auth.roles import Role
from app.config import Settings, load_settings
from tests.fixtures.parley import Parley
from tests.fixtures.streams import TEAM_EVENTS, Connect, SocketClient, Writer, connected

NAME = "query Name { team { slug } }"
PAUSE = "mutation ($id: ID!) { pauseAgent(input: {agentId: $id}) { __typename } }"
OPERATIONS = 5
LARGEST = 20_000


@pytest.fixture
def parley_settings(request: pytest.FixtureRequest, database_url: str, redis_url: str) -> Settings:
    return load_settings(
        **getattr(request, "param", {}),
        DATABASE_URL=database_url,
        REDIS_URL=redis_url,
        port=0,
        log_level="error",
        max_operations_per_socket=OPERATIONS,
        max_body_bytes=LARGEST,
        shutdown_grace_s=2,
    )


def init(secret: str | None) -> str:
    payload = {"Authorization": f"Bearer {secret}"} if secret else None
    return json.dumps({"type": "connection_init", "payload": payload})


async def answer(socket: SocketClient, payload: dict[str, Any], id: str = "q") -> tuple[Any, str]:
    """The result of an operation with one, and the type of the message that ends it."""
    await socket.send({"id": id, "type": "subscribe", "payload": payload})
    first = await socket.receive(id)
    if first["type"] == "error":
        return first["payload"], "error"
    return first["payload"], (await socket.receive(id))["type"]


async def test_each_breach_has_its_code(parley: Parley, connect: Connect) -> None:
    secret = parley.home.secrets[Role.ADMIN]
    subscribe = {"id": "1", "type": "subscribe", "payload": {"query": TEAM_EVENTS}}
    breaches = {
        4400: [
            [init(secret), "{"],
            [init(secret), "[]"],
            [init(secret), "7"],
            [init(secret), '{"type": "start"}'],
            [init(secret), '{"type": 7}'],
            [init(secret), '{"id": "1", "type": "subscribe"}'],
            [init(secret), '{"id": 1, "type": "subscribe", "payload": {"query": "{ __typename }"}}'],
            [init(secret), '{"id": "", "type": "subscribe", "payload": {"query": "{ __typename }"}}'],
            ['{"type": "connection_init", "payload": "secret"}'],
            [b"\xff\x00"],
        ],
        4401: [[json.dumps(subscribe)]],
        4403: [[init(None)], [init("parley_" + "0" * 43)], ['{"type": "connection_init"}']],
        4409: [[init(secret), json.dumps(subscribe), json.dumps(subscribe)]],
        4429: [[init(secret), init(secret)]],
        1009: [[init(secret), json.dumps({"type": "ping", "payload": {"long": "x" * LARGEST}})]],
    }

    for code, conversations in breaches.items():
        for conversation in conversations:
            async with connect(init=False) as socket:
                for message in conversation:
                    await socket.connection.send(message)

                assert await socket.close_code() == code, conversation


async def test_only_the_one_subprotocol_is_spoken(parley: Parley) -> None:
    for offered in ([Subprotocol("graphql-ws")], None):
        async with connected(parley.socket_url, subprotocols=offered) as socket:
            assert await socket.close_code() == 4406


@pytest.mark.parametrize("parley_settings", [{"request_deadline_s": 0.2}], indirect=True)
async def test_whoever_does_not_introduce_himself_is_sent_away(connect: Connect) -> None:
    async with connect(init=False) as socket:
        assert await socket.close_code() == 4408


@pytest.mark.parametrize("parley_settings", [{"request_deadline_s": 0.4}], indirect=True)
async def test_a_slow_stream_of_pings_does_not_put_off_the_introduction(connect: Connect) -> None:
    async with connect(init=False) as socket:
        for _ in range(5):
            await socket.send({"type": "ping"})
            await asyncio.sleep(0.05)

        assert await socket.close_code() == 4408


async def test_pings_are_answered_with_their_payload(connect: Connect) -> None:
    async with connect(init=False) as socket:
        await socket.send({"type": "ping"})
        await socket.send({"type": "ping", "payload": {"at": 7}})
        await socket.send({"type": "pong", "payload": {"ignored": True}})
        await socket.connection.send(b'{"type": "ping"}')  # in a binary frame

        assert [await socket.receive() for _ in range(3)] == [
            {"type": "pong"},
            {"type": "pong", "payload": {"at": 7}},
            {"type": "pong"},
        ]


async def test_queries_and_mutations(parley: Parley, connect: Connect) -> None:
    async with connect() as socket:
        query = await answer(socket, {"query": NAME})
        mutation = await answer(socket, {"query": PAUSE, "variables": {"id": parley.home.agent_id}})
        refused = await answer(socket, {"query": PAUSE, "variables": {"id": "agent_x"}})

    assert query == ({"data": {"team": {"slug": "home"}}}, "complete")
    assert mutation == ({"data": {"pauseAgent": {"__typename": "AgentPayload"}}}, "complete")
    assert refused == ({"data": {"pauseAgent": {"__typename": "InvalidInput"}}}, "complete")
    assert await parley.value("select status from agent where id = $1", parley.home.luke.id) == "paused"


async def test_what_is_wrong_with_one_operation_does_not_touch_its_siblings(
    parley: Parley, connect: Connect, writer: Writer
) -> None:
    wrong: dict[str, dict[str, Any]] = {
        "syntax": {"query": "subscription {"},
        "field": {"query": "subscription { nothing }"},
        "variables": {"query": TEAM_EVENTS, "variables": {"kinds": ["NO_SUCH_KIND"]}},
        "shape": {"query": 7},
        "nothing": {},
        "operation": {"query": NAME, "operationName": "Other"},
        "cursor": {"query": TEAM_EVENTS, "variables": {"after": "x"}},
        "depth": {"query": "{" + "team {" * 40 + "slug" + "}" * 40 + "}"},
    }
    start = await writer.say(0)
    async with connect() as socket:
        await socket.subscribe(TEAM_EVENTS, {"after": start})
        await socket.caught_up()

        for name, payload in wrong.items():
            errors, ending = await answer(socket, payload, name)
            assert ending == "error", name
            assert errors[0]["message"], name
        await writer.say(1)

        assert await socket.numbers(1) == [1]


async def test_a_completed_subscription_is_silent_and_its_id_free(
    parley: Parley, connect: Connect, writer: Writer
) -> None:
    start = await writer.say(0)
    async with connect() as socket:
        await socket.subscribe(TEAM_EVENTS, {"after": start})
        await socket.caught_up()
        await socket.send({"id": "1", "type": "complete"})
        await socket.send({"id": "unknown", "type": "complete"})
        await socket.send({"type": "ping"})
        await socket.receive()
        last = await writer.say(1)
        assert await socket.silent(0.3)

        await parley.settled()
        await socket.subscribe(TEAM_EVENTS, {"after": start})

        assert await socket.numbers(1) == [1]
        assert last == await socket.caught_up()


async def test_no_more_operations_than_allowed(connect: Connect) -> None:
    async with connect() as socket:
        for number in range(OPERATIONS):
            await socket.subscribe(TEAM_EVENTS, id=str(number))
            await socket.caught_up(str(number))
        errors, ending = await answer(socket, {"query": NAME})
        await socket.send({"id": "0", "type": "complete"})
        after = await answer(socket, {"query": NAME})

    refusal = {"code": "RATE_LIMITED", "limit": OPERATIONS, "setting": "PARLEY_MAX_OPERATIONS_PER_SOCKET"}
    assert (ending, errors[0]["extensions"]) == ("error", refusal)
    assert after == ({"data": {"team": {"slug": "home"}}}, "complete")


async def test_persisted_documents(connect: Connect) -> None:
    digest = hashlib.sha256(NAME.encode()).hexdigest()
    automatic = {"extensions": {"persistedQuery": {"version": 1, "sha256Hash": digest}}}
    expected = ({"data": {"team": {"slug": "home"}}}, "complete")
    async with connect() as socket:
        unknown, ending = await answer(socket, automatic)
        first = await answer(socket, {"query": NAME, **automatic})
        second = await answer(socket, automatic)
        by_id = await answer(socket, {"documentId": f"sha256:{digest}"})

    assert (ending, unknown[0]["message"]) == ("error", "PersistedQueryNotFound")
    assert [first, second, by_id] == [expected] * 3


async def test_a_role_that_may_not_is_refused_and_nothing_changes(parley: Parley, connect: Connect) -> None:
    async with connect(role=Role.ANALYST) as socket:
        payload, _ = await answer(socket, {"query": PAUSE, "variables": {"id": parley.home.agent_id}})

    assert payload == {"data": {"pauseAgent": {"__typename": "Forbidden"}}}
    assert await parley.value("select status from agent where id = $1", parley.home.luke.id) == "active"


async def test_a_client_that_vanishes_leaves_nothing_behind(parley: Parley, connect: Connect) -> None:
    async with connect() as socket:
        await socket.subscribe(TEAM_EVENTS)
        await socket.caught_up()
        socket.connection.transport.abort()

    metrics = ""
    async with asyncio.timeout(5):
        while "parley_streams 0.0" not in metrics:
            metrics = (await parley.client.get("/metrics")).text
    assert 'parley_open_connections{transport="websocket"} 0.0' in metrics
    assert 'parley_subscribers{state="live"} 0.0' in metrics
