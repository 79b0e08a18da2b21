"""The load generator, a process of its own: each keep-alive connection sends its next request when it has an answer.

Reads a plan from standard input as JSON and writes a report to standard output. It does as little work per request as
Python can (one search in a buffer), so that the measured time is the server's.
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
class Plan:
    ports: list[int]  # connection n uses port n modulo their number
    requests: list[bytes]
    connections: int
    seconds: float


class Client(asyncio.Protocol):
    """One connection; sends no more requests after the deadline."""

    def __init__(self, plan: Plan, number: int, tally: Tally) -> None:
        step = max(1, len(plan.requests) // plan.connections)
        first = number * step % len(plan.requests)
        self._requests = itertools.cycle(plan.requests[first:] + plan.requests[:first])
        self._tally = tally
        self._buffer = b""
        self._missing_bytes = -1

    def connection_made(self, transport: Any) -> None:
        self._transport = transport
        self._send()

    def _send(self) -> None:
        self._sent_at = time.perf_counter()
        self._transport.write(next(self._requests))

    def data_received(self, data: bytes) -> None:
        if self._missing_bytes < 0:
            self._buffer += data
            end = self._buffer.find(b"\r\n\r\n")
            if end < 0:
                return
            self._missing_bytes = _content_length(self._buffer[:end]) - (len(self._buffer) - end - 4)
            ok = self._buffer.startswith(b"HTTP/1.1 200")
            self._tally.failed += not ok
            self._buffer = b""
        else:
            self._missing_bytes -= len(data)
        if self._missing_bytes == 0:
            self._finish_response()

    def _finish_response(self) -> None:
        self._missing_bytes = -1
        now = time.perf_counter()
        self._tally.latencies.append(now - self._sent_at)
        if now < self._tally.deadline:
            self._send()
        else:
            self._transport.close()

    def connection_lost(self, error: Exception | None) -> None:
        self._tally.open -= 1
        if not self._tally.open:
            self._tally.done.set()


class Tally:
    def __init__(self, plan: Plan) -> None:
        self.latencies: list[float] = []
        self.failed = 0
        self.open = plan.connections
        self.done = asyncio.Event()
        self.deadline = time.perf_counter() + plan.seconds


def _content_length(head: bytes) -> int:
    lowered = head.lower()
    start = lowered.find(b"\r\ncontent-length:")
    if start < 0:
        raise ValueError(f"response without a content-length: {head!r}")
    return int(lowered[start + 17 :].split(b"\r\n", 1)[0])


async def run(plan: Plan) -> dict[str, float]:
    loop, tally = asyncio.get_running_loop(), Tally(plan)
    started = time.perf_counter()
    for number in range(plan.connections):
        port = plan.ports[number % len(plan.ports)]
        await loop.create_connection(lambda: Client(plan, number, tally), "127.0.0.1", port)  # noqa: B023
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
    fields = json.load(sys.stdin)
    requests = [request.encode() for request in fields.pop("requests")]
    json.dump(uvloop.run(run(Plan(requests=requests, **fields))), sys.stdout)


if __name__ == "__main__":
    main()
