"""Fan-out: one identical subscription, a thousand clients, the same events for Parley and for Node."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from statistics import median
from typing import Any

from benchmarks.needs import NODE, node
from benchmarks.part import Depth, Figures, OpenTestbed, Part
from benchmarks.processes import ChildProcess, Server, python
from benchmarks.tables import compare_contenders
from benchmarks.testbed import Testbed

PARLEY, NODE_WS = "Parley", "Node graphql-ws"
SUBSCRIPTION = "subscription { teamEvents { __typename ... on Event { id kind at actor changes cursor } } }"
RATE = 5.0  # events per second when paced: what both contenders can keep up with on two cores
FLAT_CLIENTS = 100
ROWS = {
    "deliveries per second, unpaced": ("rate", ".0f"),
    "server CPU per delivery, µs": ("cpu_us", ".1f"),
    "p50 at 5 events/s, ms": ("p50_ms", ".1f"),
    "p99 at 5 events/s, ms": ("p99_ms", ".1f"),
    "memory per client, kB": ("kb_per_client", ".1f"),
    "unpaced, one client stalled": ("stalled_rate", ".0f"),
    "p99, one client stalled, ms": ("stalled_p99_ms", ".1f"),
    "memory after a tenth, MB": ("flat_from_mb", ".1f"),
    "memory at the end, MB": ("flat_to_mb", ".1f"),
}
StartServer = Callable[[], Server]


@dataclass(frozen=True)
class Size:
    rounds: int
    clients: int
    burst: int
    paced: int
    flat: int
    settle_s: float = 1.0


SIZES = {
    Depth.QUICK: Size(rounds=1, clients=200, burst=100, paced=5, flat=200, settle_s=0.2),
    Depth.NORMAL: Size(rounds=3, clients=1_000, burst=300, paced=50, flat=6_000),
    Depth.FULL: Size(rounds=3, clients=1_000, burst=300, paced=50, flat=60_000),
}


def measure(open_testbed: OpenTestbed, depth: Depth) -> Figures:
    size = SIZES[depth]
    with open_testbed() as testbed:
        writer, starters = testbed.start_child("benchmarks.writer"), _server_starters(testbed)
        rounds: dict[str, list[dict[str, float]]] = {name: [] for name in starters}
        for _ in range(size.rounds):
            for name, start_server in starters.items():
                rounds[name].append(_run_round(testbed, start_server, writer, size))
        flat = {name: _measure_growth(testbed, start, writer, size) for name, start in starters.items()}
    contenders = {name: _medians(samples) | flat[name] for name, samples in rounds.items()}
    return {"clients": size.clients, "rounds": size.rounds, "burst": size.burst, "flat_events": size.flat,
            "flat_clients": FLAT_CLIENTS, "contenders": contenders, "all": rounds}  # fmt: skip


def _server_starters(testbed: Testbed) -> dict[str, StartServer]:
    starters: dict[str, StartServer] = {PARLEY: lambda: testbed.start_server(PARLEY, python("app.cli", "serve"))}
    if not NODE.missing():
        starters[NODE_WS] = lambda: testbed.start_server(NODE_WS, node("graphql_ws.mjs"), NODE_ENV="production")
    return starters


def _run_round(testbed: Testbed, start_server: StartServer, writer: ChildProcess, size: Size) -> dict[str, float]:
    with _running(testbed, start_server, size.settle_s) as server:
        empty_mb = server.rss_mb()
        with _connected_clients(testbed, server, size.clients, size.settle_s) as clients:
            _deliver(clients, writer, 1)  # once every client has received an event, all are subscribed
            client_kb = 1000 * (server.rss_mb() - empty_mb) / size.clients
            paced = _deliver(clients, writer, size.paced, rate=RATE)
            cpu_s = server.cpu_s()
            burst = _deliver(clients, writer, size.burst)
            cpu_us = 1e6 * (server.cpu_s() - cpu_s) / burst["received"]
            clients.call(stall=True)
            stalled = _deliver(clients, writer, size.burst)
            stalled_paced = _deliver(clients, writer, size.paced, rate=RATE)
    return {
        "kb_per_client": client_kb,
        "p50_ms": paced["p50_ms"],
        "p99_ms": paced["p99_ms"],
        "rate": _delivery_rate(burst),
        "cpu_us": cpu_us,
        "stalled_rate": _delivery_rate(stalled),
        "stalled_p99_ms": stalled_paced["p99_ms"],
    }


def _measure_growth(testbed: Testbed, start_server: StartServer, writer: ChildProcess, size: Size) -> dict[str, float]:
    """Returns the server's memory after a tenth of the events and at the end."""
    with (
        _running(testbed, start_server, size.settle_s) as server,
        _connected_clients(testbed, server, FLAT_CLIENTS, size.settle_s) as clients,
    ):
        _deliver(clients, writer, size.flat // 10)
        before_mb = server.rss_mb()
        _deliver(clients, writer, size.flat - size.flat // 10)
        return {"flat_from_mb": before_mb, "flat_to_mb": server.rss_mb()}


def _deliver(clients: ChildProcess, writer: ChildProcess, events: int, rate: float | None = None) -> dict[str, Any]:
    """Writes events, unpaced in tens, and waits until every client that reads has received all of them."""
    clients.call(expect=events)
    writer.call(events=events, rate=rate or (RATE if events == 1 else None))
    report = clients.call(wait=True)
    if not report["complete"]:
        raise AssertionError(f"Not every client received its {events} events: {report}")
    return report


@contextmanager
def _running(testbed: Testbed, start_server: StartServer, settle_s: float) -> Iterator[Server]:
    server = start_server()
    time.sleep(settle_s)
    try:
        yield server
    finally:
        testbed.stop(server)


@contextmanager
def _connected_clients(testbed: Testbed, server: Server, count: int, settle_s: float) -> Iterator[ChildProcess]:
    messages = [
        {"type": "connection_init", "payload": {"authorization": f"Bearer {testbed.seed.secret}"}},
        {"id": "ID", "type": "subscribe", "payload": {"query": SUBSCRIPTION}},
    ]
    clients = testbed.start_child("benchmarks.subscribers")
    try:
        clients.call(port=server.port, count=count, messages=[json.dumps(message) for message in messages])
        time.sleep(settle_s)
        yield clients
    finally:
        testbed.stop(clients)


def _delivery_rate(report: dict[str, Any]) -> float:
    return float(report["received"] / max(1e-9, report["last"] - report["first"]))


def _medians(rounds: list[dict[str, float]]) -> dict[str, float]:
    return {name: median(sample[name] for sample in rounds) for name in rounds[0]}


def table(figures: Figures) -> str:
    title = (
        f"Fan-out: {figures['clients']} clients, {figures['burst']} events unpaced, medians of {figures['rounds']} "
        f"rounds; memory over {figures['flat_events']} events to {figures['flat_clients']} clients"
    )
    return "\n".join([title, *compare_contenders(ROWS, figures["contenders"])])


PART = Part("fanout", measure, table, options=(NODE,))
