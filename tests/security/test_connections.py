"""Attacks by connections that say nothing, or say it slowly."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

import pytest
from websockets.asyncio.client import connect

from app.auth.roles import Role
from tests.fixtures.attack import SIMPLE_QUERY, Target
from tests.fixtures.commands import MAX_DESCRIPTORS
from tests.fixtures.installation import ParleyProcess
from tests.fixtures.streams import PROTOCOL, SocketClient, connected

DEADLINE_S = 1.0
PATIENCE_S = 20.0
SLOW_HEAD = b"POST /graphql HTTP/1.1\r\nHost: parley\r\nX-Slow: "
# A masked text frame of the message {"type":"ping"}; the mask is zero.
PING_FRAME = b"\x81\x8f\x00\x00\x00\x00" + b'{"type":"ping"}'
Connection = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@asynccontextmanager
async def another_server(target: Target, **environment: str) -> AsyncIterator[ParleyProcess]:
    server = target.installation.another("serve")
    server.environment.update(environment)
    await asyncio.to_thread(server.start)
    try:
        yield server
    finally:
        server.end()


async def connect_silently(server: ParleyProcess, address: str, count: int) -> list[Connection]:
    """Connections from one loopback address. Those that the server refuses at once end like any other."""
    return [await asyncio.open_connection("127.0.0.1", server.port, local_addr=(address, 0)) for _ in range(count)]


async def rest(connection: Connection) -> bytes:
    """What the server still sends until it closes."""
    async with asyncio.timeout(PATIENCE_S):
        try:
            return await connection[0].read()
        except ConnectionResetError:
            return b""


def is_open(connection: Connection) -> bool:
    return not connection[0].at_eof() and connection[0].exception() is None


async def count_open(connections: list[Connection], maximum: int) -> int:
    """How many are open when no more than `maximum` are, or when patience ends."""
    try:
        async with asyncio.timeout(PATIENCE_S):
            while sum(map(is_open, connections)) > maximum:  # noqa: ASYNC110  a closed socket rings no bell
                await asyncio.sleep(0.01)
    except TimeoutError:
        pass
    return sum(map(is_open, connections))


def close(connections: list[Connection]) -> None:
    for _, writer in connections:
        writer.transport.abort()


def with_server(target: Target, server: ParleyProcess) -> Target:
    return Target(target.installation, target.bystander, server.url, server.pid)


async def test_silent_connections_of_one_network(target: Target) -> None:
    limits = {"PARLEY_MAX_UNAUTHENTICATED_PER_NETWORK": "30", "PARLEY_TRUSTED_PROXIES": "10.0.0.1"}
    async with another_server(target, **limits) as server, with_server(target, server).watched():
        silent = await connect_silently(server, "127.0.0.2", 60)
        assert await count_open(silent, 30) == 30
        close(silent)


async def test_silent_connections_of_many_networks_give_way_to_new_ones(target: Target) -> None:
    limits = {"PARLEY_MAX_UNAUTHENTICATED": "40", "PARLEY_TRUSTED_PROXIES": "10.0.0.1"}
    async with another_server(target, **limits) as server, with_server(target, server).watched():
        silent = [
            connection
            for network in range(2, 12)
            for connection in await connect_silently(server, f"127.0.0.{network}", 10)
        ]
        assert await count_open(silent, 40) <= 40
        close(silent)


async def test_more_silent_connections_than_the_process_has_descriptors(target: Target) -> None:
    async with another_server(target, **{MAX_DESCRIPTORS: "300"}) as server:
        before = await connect_silently(server, "127.0.0.2", 320)
        async with with_server(target, server).watched():
            more = await connect_silently(server, "127.0.0.2", 320)
            assert await count_open(before + more, 150) <= 150
        close(before + more)


@pytest.mark.parametrize("part", ["nothing", "half a head", "no body"])
async def test_slow_requests(target: Target, part: str) -> None:
    key = target.attacker.secrets[Role.ANALYST].encode()
    head = b"POST /graphql HTTP/1.1\r\nHost: parley\r\nContent-Type: application/json\r\nContent-Length: 40\r\n"
    sent = {
        "nothing": b"",
        "half a head": SLOW_HEAD,
        "no body": head + b"Authorization: Bearer " + key + b"\r\n\r\n",
    }[part]
    async with another_server(target, PARLEY_REQUEST_DEADLINE_S=f"{DEADLINE_S}") as server:
        async with with_server(target, server).watched():
            (connection,) = await connect_silently(server, "127.0.0.2", 1)
            connection[1].write(sent)
            assert (await rest(connection)).startswith(b"HTTP/1.1 408 ")
            close([connection])


async def test_head_that_grows_by_a_byte_at_a_time(target: Target) -> None:
    async with another_server(target, PARLEY_REQUEST_DEADLINE_S=f"{DEADLINE_S}") as server:
        (connection,) = await connect_silently(server, "127.0.0.2", 1)
        connection[1].write(SLOW_HEAD)
        answer = asyncio.create_task(rest(connection))
        while not answer.done():
            connection[1].write(b"x")
            await asyncio.wait((answer,), timeout=0.05)
        assert (await answer).startswith(b"HTTP/1.1 408 ")
        close([connection])


async def test_silent_web_sockets(target: Target) -> None:
    async with (
        another_server(target, PARLEY_REQUEST_DEADLINE_S=f"{DEADLINE_S}") as server,
        with_server(target, server).watched(),
        AsyncExitStack() as stack,
    ):
        sockets = [
            await stack.enter_async_context(connect(server.socket_url, subprotocols=[PROTOCOL])) for _ in range(20)
        ]
        async with asyncio.timeout(PATIENCE_S):
            for socket in sockets:
                await socket.wait_closed()
        assert {socket.close_code for socket in sockets} == {4408}


async def test_connection_with_a_key_is_not_counted(target: Target) -> None:
    limits = {"PARLEY_MAX_UNAUTHENTICATED_PER_NETWORK": "2", "PARLEY_TRUSTED_PROXIES": "10.0.0.1"}
    async with another_server(target, **limits) as server, AsyncExitStack() as stack:
        for _ in range(10):
            client = await stack.enter_async_context(with_server(target, server).client())
            assert (await client.post("/graphql", json={"query": SIMPLE_QUERY})).status_code == 200


async def test_endless_head(target: Target) -> None:
    (connection,) = await connect_silently(target.installation.server, "127.0.0.2", 1)

    connection[1].write(SLOW_HEAD + b"x" * 100_000)

    assert (await rest(connection)).startswith(b"HTTP/1.1 431 ")
    close([connection])


async def test_flood_of_pings(target: Target) -> None:
    async with connected(target.installation.server.socket_url) as socket:
        await socket.init(target.attacker.secrets[Role.ANALYST])
        reading = asyncio.create_task(read_all(socket))
        async with target.watched():
            for _ in range(40):
                socket.connection.transport.write(PING_FRAME * 500)
                await asyncio.sleep(0.025)
        reading.cancel()


async def test_flood_of_pings_without_a_key(target: Target) -> None:
    async with connected(target.installation.server.socket_url) as socket:
        for _ in range(25):
            await socket.send({"type": "ping"})

        assert await socket.close_code() == 4429


async def read_all(socket: SocketClient) -> None:
    async for _ in socket.connection:
        pass


async def test_large_message_is_read_in_portions_and_whole(target: Target) -> None:
    query = "query ($t: String!) { agents(where: {name: {eq: $t}}) { totalCount } }"
    async with connected(target.installation.server.socket_url) as socket:
        await socket.init(target.attacker.secrets[Role.ANALYST])
        for number in range(3):
            await socket.subscribe(query, {"t": "x" * 900_000}, id=f"large {number}")
            await socket.subscribe(SIMPLE_QUERY, id=f"small {number}")
        answers = [await socket.receive(f"{size} {number}") for number in range(3) for size in ("large", "small")]

    assert [answer["payload"]["data"] is not None for answer in answers] == [True] * 6
