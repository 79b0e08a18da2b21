"""Fan-out: one identical subscription, a thousand clients, the same events for Parley and for Node."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from statistics import median
from typing import Any

from benchmarks.helper import Helper
from benchmarks.stage import Server, Stage, node, node_is_present, python

PARLEY, NODE = "Parley", "Node graphql-ws"
SUBSCRIPTION = "subscription { teamEvents { __typename ... on Event { id kind at actor changes cursor } } }"
RATE = 5.0  # events a second when paced: what both contenders can keep up with on two cores
FLAT_CLIENTS = 100
SETTLE_S = 1.0


@dataclass(frozen=True)
class Size:
    rounds: int
    clients: int
    burst: int
    paced: int
    flat: int


QUICK = Size(rounds=1, clients=1_000, burst=200, paced=20, flat=1_000)
NORMAL = Size(rounds=3, clients=1_000, burst=300, paced=50, flat=6_000)
FULL = Size(rounds=3, clients=1_000, burst=300, paced=50, flat=60_000)


def measure(stage: Stage, size: Size) -> dict[str, Any]:
    writer = Helper(stage, "benchmarks.writer")
    starts: dict[str, Callable[[], Server]] = {PARLEY: lambda: stage.serve(PARLEY, python("app.cli", "serve"))}
    if node_is_present():
        starts[NODE] = lambda: stage.serve(NODE, node("graphql_ws.mjs"), NODE_ENV="production")
    found: dict[str, list[dict[str, Any]]] = {name: [] for name in starts}
    try:
        for _ in range(size.rounds):
            for name, start in starts.items():
                found[name].append(_round(stage, start, writer, size))
        flat = {name: _flatness(stage, start, writer, size.flat) for name, start in starts.items()}
    finally:
        writer.stop()
    contenders = {name: _medians(rounds) | flat[name] for name, rounds in found.items()}
    return {"clients": size.clients, "rounds": size.rounds, "burst": size.burst, "flat_events": size.flat,
            "flat_clients": FLAT_CLIENTS, "contenders": contenders, "all": found}  # fmt: skip


def _round(stage: Stage, start: Callable[[], Server], writer: Helper, size: Size) -> dict[str, Any]:
    with _running(stage, start) as server:
        empty_mb = server.rss_mb()
        with _clients(stage, server, size.clients) as clients:
            deliver(clients, writer, 1)  # all have subscribed once all have had one
            held_kb = 1000 * (server.rss_mb() - empty_mb) / size.clients
            paced = deliver(clients, writer, size.paced, rate=RATE)
            cpu_s = server.cpu_s()
            burst = deliver(clients, writer, size.burst)
            cpu_us = 1e6 * (server.cpu_s() - cpu_s) / burst["received"]
            clients.ask(stall=True)
            stalled = deliver(clients, writer, size.burst)
            stalled_paced = deliver(clients, writer, size.paced, rate=RATE)
    return {
        "kb_a_client": held_kb,
        "p50_ms": paced["p50_ms"],
        "p99_ms": paced["p99_ms"],
        "rate": _rate(burst),
        "cpu_us": cpu_us,
        "stalled_rate": _rate(stalled),
        "stalled_p99_ms": stalled_paced["p99_ms"],
    }


def _flatness(stage: Stage, start: Callable[[], Server], writer: Helper, events: int) -> dict[str, float]:
    """Memory at a tenth of the events and at the end."""
    with _running(stage, start) as server, _clients(stage, server, FLAT_CLIENTS) as clients:
        deliver(clients, writer, events // 10)
        before = server.rss_mb()
        deliver(clients, writer, events - events // 10)
        return {"flat_from_mb": before, "flat_to_mb": server.rss_mb()}


def deliver(clients: Helper, writer: Helper, events: int, rate: float | None = None) -> dict[str, Any]:
    """Write events and wait until all clients that read have had them all."""
    written = events if rate or events % 10 == 0 else 1
    clients.ask(expect=written)
    writer.ask(events=written, rate=rate or (RATE if written == 1 else None))
    seen = clients.ask(wait=True)
    if not seen["complete"]:
        raise AssertionError(f"not every client had its {written} events: {seen}")
    return seen


@contextmanager
def _running(stage: Stage, start: Callable[[], Server]) -> Iterator[Server]:
    server = start()
    time.sleep(SETTLE_S)
    try:
        yield server
    finally:
        stage.stop(server)


@contextmanager
def _clients(stage: Stage, server: Server, count: int) -> Iterator[Helper]:
    key = {"authorization": f"Bearer {stage.seeded.secret}"}
    messages = [
        {"type": "connection_init", "payload": key},
        {"id": "ID", "type": "subscribe", "payload": {"query": SUBSCRIPTION}},
    ]
    clients = Helper(stage, "benchmarks.subscribers")
    try:
        clients.ask(port=server.port, count=count, messages=[json.dumps(message) for message in messages])
        time.sleep(SETTLE_S)
        yield clients
    finally:
        clients.stop()


def _rate(seen: dict[str, Any]) -> float:
    return float(seen["received"] / max(1e-9, seen["last"] - seen["first"]))


def _medians(rounds: list[dict[str, Any]]) -> dict[str, float]:
    return {name: median(found[name] for found in rounds) for name in rounds[0]}
