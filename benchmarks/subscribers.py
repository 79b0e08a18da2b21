"""A thousand WebSocket clients in one lean process: raw sockets and a minimal frame parser.

The first line of standard input tells where to connect and what to send. Each further line is a command, answered with
a line: `expect` sets how many events each client gets, `wait` waits for them, `stall` makes one client stop reading.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from typing import Any
from uuid import uuid4

import uvloop

EVENT, STAMP = b'"sent":', len(b'"sent":')
TIMEOUT_S = 60.0
_UPGRADE = (
    b"GET /graphql HTTP/1.1\r\nhost: 127.0.0.1\r\nupgrade: websocket\r\nconnection: Upgrade\r\n"
    b"sec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
    b"sec-websocket-protocol: graphql-transport-ws\r\n\r\n"
)


def masked_frame(opcode: int, payload: bytes) -> bytes:
    """Returns a frame masked with zeros: clients must mask, and zeros leave the payload as it is."""
    size = len(payload)
    head = bytes((0x80 | opcode, 0x80 | size)) if size < 126 else bytes((0x80 | opcode, 0xFE)) + size.to_bytes(2)
    return head + bytes(4) + payload


class Audience:
    """All clients, and what they have received in the current phase."""

    def __init__(self) -> None:
        self.clients: list[Client] = []
        self.stalled: set[Client] = set()
        self.begin(0)

    def begin(self, expected: int) -> None:
        self.expected, self.received = expected, 0
        self.delays_ms: list[float] = []
        self.first = self.last = 0.0
        self.done = asyncio.Event()
        for client in self.clients:
            client.received = 0

    def add(self, sent_ns: int) -> None:
        now_ns = time.time_ns()
        self.delays_ms.append((now_ns - sent_ns) / 1e6)
        self.received += 1
        if self.received == 1:
            self.first = now_ns / 1e9
        if self.received == self.expected * (len(self.clients) - len(self.stalled)):
            self.last = now_ns / 1e9
            self.done.set()

    def report(self) -> dict[str, Any]:
        delays = sorted(self.delays_ms) or [0.0]
        listening = [client for client in self.clients if client not in self.stalled]
        return {
            "complete": all(client.received == self.expected for client in listening),
            "closed": sum(client.closed for client in listening),
            "received": self.received,
            "first": self.first,
            "last": self.last,
            "p50_ms": delays[len(delays) // 2],
            "p99_ms": delays[len(delays) * 99 // 100],
            "max_ms": delays[-1],
        }


class Client(asyncio.Protocol):
    def __init__(self, audience: Audience, messages: list[bytes]) -> None:
        self._audience, self._messages = audience, messages
        self._unparsed = b""
        self._upgraded = False
        self.received = 0
        self.closed = False
        self.acknowledged = asyncio.Event()

    def connection_made(self, transport: Any) -> None:
        self.transport = transport
        transport.write(_UPGRADE)

    def connection_lost(self, error: Exception | None) -> None:
        self.closed = True

    def data_received(self, data: bytes) -> None:
        if self._unparsed:
            data = self._unparsed + data
        if not self._upgraded:
            end = data.find(b"\r\n\r\n")
            if end < 0 or not data.startswith(b"HTTP/1.1 101"):
                raise ValueError(f"The server did not upgrade to WebSocket: {data!r}")
            self._upgraded, data = True, data[end + 4 :]
            self.transport.write(masked_frame(1, self._messages[0]))
        at, size = 0, len(data)
        while size - at >= 4:
            length, head = data[at + 1], 2
            if length == 126:
                length, head = data[at + 2] << 8 | data[at + 3], 4
            end = at + head + length
            if length == 127 or end > size:
                break
            self._frame(data[at] & 15, data, at + head, end)
            at = end
        self._unparsed = data[at:]

    def _frame(self, opcode: int, data: bytes, start: int, end: int) -> None:
        if opcode == 9:
            self.transport.write(masked_frame(10, data[start:end]))
            return
        stamp = data.find(EVENT, start, end)
        if stamp >= 0:
            # Nanoseconds since 1970 have 19 digits until the year 2286.
            self.received += 1
            self._audience.add(int(data[stamp + STAMP : stamp + STAMP + 20].strip(b', }"')))
        elif data.find(b"connection_ack", start, end) >= 0:
            # Every client has an id of its own, as in practice: the server cannot send all the same frame.
            self.transport.write(masked_frame(1, self._messages[1].replace(b"ID", str(uuid4()).encode())))
            self.acknowledged.set()
        elif data.find(b'"type":"error"', start, end) >= 0:
            raise ValueError(data[start:end].decode())


async def connect(audience: Audience, port: int, count: int, messages: list[bytes]) -> None:
    loop = asyncio.get_running_loop()
    for _ in range(count):
        _, client = await loop.create_connection(lambda: Client(audience, messages), "127.0.0.1", port)
        audience.clients.append(client)
        await client.acknowledged.wait()


async def execute(audience: Audience, command: dict[str, Any]) -> dict[str, Any]:
    if "stall" in command:
        client = audience.clients[0]
        audience.stalled.add(client)
        client.transport.pause_reading()
        return {}
    if "expect" in command:
        audience.begin(command["expect"])
        return {}
    try:
        async with asyncio.timeout(command.get("timeout_s", TIMEOUT_S)):
            await audience.done.wait()
    except TimeoutError:
        pass
    return audience.report()


async def main() -> None:
    audience, loop = Audience(), asyncio.get_running_loop()
    first = json.loads(sys.stdin.readline())
    await connect(audience, first["port"], first["count"], [message.encode() for message in first["messages"]])
    print("{}", flush=True)
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        print(json.dumps(await execute(audience, json.loads(line))), flush=True)


if __name__ == "__main__":
    uvloop.run(main())
