"""The load generator, a process of its own: keep-alive connections that each send the next request when answered.

Reads its orders from standard input as JSON and writes what it saw to standard output. It does as little a request as
Python can (one search in a buffer), so that the server is what is measured.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import sys
import time
from dataclasses import dataclass
from typing import Any

import uvloop


@dataclass(frozen=True)
class Orders:
    ports: list[int]  # the connections take them in turn
    requests: list[bytes]
    connections: int
    seconds: float


class Client(asyncio.Protocol):
    """One connection; stops asking once the time is over."""

    def __init__(self, orders: Orders, first: int, tally: Tally) -> None:
        step = max(1, len(orders.requests) // orders.connections)
        at = first * step % len(orders.requests)
        self._requests = itertools.cycle(orders.requests[at:] + orders.requests[:at])
        self._tally = tally
        self._buffer = b""
        self._missing = -1

    def connection_made(self, transport: Any) -> None:
        self._transport = transport
        self._ask()

    def _ask(self) -> None:
        self._sent = time.perf_counter()
        self._transport.write(next(self._requests))

    def data_received(self, data: bytes) -> None:
        if self._missing < 0:
            self._buffer += data
            end = self._buffer.find(b"\r\n\r\n")
            if end < 0:
                return
            self._missing = _length(self._buffer[:end]) - (len(self._buffer) - end - 4)
            ok = self._buffer.startswith(b"HTTP/1.1 200")
            self._tally.failed += not ok
            self._buffer = b""
        else:
            self._missing -= len(data)
        if self._missing == 0:
            self._answered()

    def _answered(self) -> None:
        self._missing = -1
        at = time.perf_counter()
        self._tally.latencies.append(at - self._sent)
        if at < self._tally.deadline:
            self._ask()
        else:
            self._transport.close()

    def connection_lost(self, error: Exception | None) -> None:
        self._tally.open -= 1
        if not self._tally.open:
            self._tally.done.set()


class Tally:
    def __init__(self, orders: Orders) -> None:
        self.latencies: list[float] = []
        self.failed = 0
        self.open = orders.connections
        self.done = asyncio.Event()
        self.deadline = time.perf_counter() + orders.seconds


def _length(head: bytes) -> int:
    lowered = head.lower()
    at = lowered.find(b"\r\ncontent-length:")
    if at < 0:
        raise ValueError(f"answer without a length: {head!r}")
    return int(lowered[at + 17 :].split(b"\r\n", 1)[0])


async def run(orders: Orders) -> dict[str, float]:
    loop, tally = asyncio.get_running_loop(), Tally(orders)
    started = time.perf_counter()
    for number in range(orders.connections):
        port = orders.ports[number % len(orders.ports)]
        await loop.create_connection(lambda: Client(orders, number, tally), "127.0.0.1", port)  # noqa: B023
    await tally.done.wait()
    seconds = time.perf_counter() - started
    latencies = sorted(tally.latencies)
    return {
        "requests": len(latencies),
        "failed": tally.failed,
        "seconds": seconds,
        "p50_ms": 1000 * latencies[len(latencies) // 2],
        "p99_ms": 1000 * latencies[len(latencies) * 99 // 100],
    }


def main() -> None:
    given = json.load(sys.stdin)
    requests = [request.encode() for request in given.pop("requests")]
    json.dump(uvloop.run(run(Orders(requests=requests, **given))), sys.stdout)


if __name__ == "__main__":
    main()
