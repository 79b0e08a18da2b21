"""Tasks: how soon they start and how many complete per second, beside arq at its defaults and arq woken likewise."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from statistics import median
from typing import Any

from benchmarks.part import Depth, Figures, OpenTestbed, Part
from benchmarks.processes import ChildProcess
from benchmarks.tables import compare_contenders
from benchmarks.testbed import Testbed

PARLEY, ARQ, WOKEN = "Parley", "bare arq", "woken arq"
WORKERS = {
    PARLEY: "benchmarks.servers.worker",
    ARQ: "benchmarks.servers.bare_arq",
    WOKEN: "benchmarks.servers.woken_arq",
}
RATE = 20.0  # tasks per second under load: what one process can delegate on two cores that it shares with all others
# Long enough for the previous task to start even if arq has just polled; random, to fall anywhere between two polls.
PAUSE_S = (0.6, 1.1)


@dataclass(frozen=True)
class Size:
    rounds: int
    count: int
    alone: int
    paced: int
    idle_s: float
    settle_s: float = 2.0


QUICK = Size(rounds=1, count=100, alone=4, paced=20, idle_s=1.0, settle_s=0.5)
NORMAL = Size(rounds=3, count=1_500, alone=20, paced=200, idle_s=20.0)


@dataclass
class Sample:
    rate: float
    worker_us: float
    postgres_us: float
    alone_ms: list[float]
    paced_ms: list[float]
    paced_rate: float
    writes: dict[str, float]


def measure(open_testbed: OpenTestbed, depth: Depth) -> Figures:
    size = QUICK if depth is Depth.QUICK else NORMAL
    samples: dict[str, list[Sample]] = {name: [] for name in WORKERS}
    with open_testbed() as testbed:
        delegator = testbed.start_child("benchmarks.delegator")
        delegator.receive()
        for _ in range(size.rounds):
            for name in WORKERS:
                samples[name].append(_run_round(testbed, delegator, name, size))
        idle = {name: _measure_idle(testbed, name, size) for name in WORKERS}
    contenders = {name: _summarize(rounds) | idle[name] for name, rounds in samples.items()}
    return {"rounds": size.rounds, "count": size.count, "alone": size.rounds * size.alone, "rate": RATE,
            "paced": size.rounds * size.paced, "idle_s": size.idle_s, "contenders": contenders}  # fmt: skip


def _run_round(testbed: Testbed, delegator: ChildProcess, name: str, size: Size) -> Sample:
    delegator.call(create=name, count=size.count)
    delegator.call(vacuum=True)
    before = delegator.call(count_rows=True)
    with _running_worker(testbed, name) as worker:
        worker.call(expect=size.count)
        cpu_s, postgres_cpu_s = worker.cpu_s(), testbed.postgres_cpu_s()
        started = worker.call(start=True)["at"]
        worker.call(wait=True)
        finished = delegator.call(finish=name)["at"]
        worker_us = 1e6 * (worker.cpu_s() - cpu_s) / size.count
        postgres_us = 1e6 * (testbed.postgres_cpu_s() - postgres_cpu_s) / size.count
        after = delegator.call(count_rows=True)
        _check_all_completed(name, before, after, size.count)
        time.sleep(size.settle_s)
        alone, _ = _delays_ms(delegator, worker, name, count=size.alone, pause_s=PAUSE_S)
        paced, paced_rate = _delays_ms(delegator, worker, name, count=size.paced, rate=RATE)
        delegator.call(finish=name)
    writes = {key: after[key] - before[key] for key in ("events", "attempts", "settled")}
    return Sample(size.count * 1e9 / (finished - started), worker_us, postgres_us, alone, paced, paced_rate, writes)


def _check_all_completed(name: str, before: dict[str, Any], after: dict[str, Any], count: int) -> None:
    """Raises AssertionError unless every task completed and every budget was settled."""
    if name != PARLEY:
        return
    expected = {"completed": count, "attempts": count, "settled": count, "events": 2 * count}
    counts = {key: after[key] - before[key] for key in expected}
    if counts != expected or after["reserved"] or after["completed"] != after["tasks"]:
        raise AssertionError(f"{count} tasks must be completed, with their events, attempts and budgets: {after}")


def _delays_ms(
    delegator: ChildProcess, worker: ChildProcess, name: str, count: int, **pace: Any
) -> tuple[list[float], float]:
    """Returns the delay of each start, and the rate at which work was really created."""
    worker.call(expect=count)
    created = delegator.call(create=name, count=count, **pace)["created"]
    starts = worker.call(wait=True)["starts"]
    seconds = (max(created.values()) - min(created.values())) / 1e9
    return [(starts[key] - at) / 1e6 for key, at in created.items()], (count - 1) / seconds


def _measure_idle(testbed: Testbed, name: str, size: Size) -> dict[str, float]:
    """Returns how much of a core, in percent, an idle worker takes, and how much Postgres takes meanwhile."""
    with _running_worker(testbed, name) as worker:
        worker.call(start=True)
        time.sleep(size.settle_s)
        cpu_s, postgres_cpu_s, started = worker.cpu_s(), testbed.postgres_cpu_s(), time.monotonic()
        time.sleep(size.idle_s)
        elapsed_s = time.monotonic() - started
        return {
            "idle_percent": 100 * (worker.cpu_s() - cpu_s) / elapsed_s,
            "idle_postgres_percent": 100 * (testbed.postgres_cpu_s() - postgres_cpu_s) / elapsed_s,
        }


@contextmanager
def _running_worker(testbed: Testbed, name: str) -> Iterator[ChildProcess]:
    worker = testbed.start_child(WORKERS[name])
    try:
        worker.receive()
        yield worker
    finally:
        testbed.stop(worker)


def _summarize(samples: list[Sample]) -> dict[str, Any]:
    """Returns medians of the rounds; delays are pooled over all rounds, because each round has few."""
    alone = sorted(delay for sample in samples for delay in sample.alone_ms)
    paced = sorted(delay for sample in samples for delay in sample.paced_ms)
    return {
        "rate": median(sample.rate for sample in samples),
        "rates": [round(sample.rate, 1) for sample in samples],
        "worker_us": median(sample.worker_us for sample in samples),
        "postgres_us": median(sample.postgres_us for sample in samples),
        "alone_p50_ms": median(alone),
        "alone_max_ms": alone[-1],
        "paced_rate": median(sample.paced_rate for sample in samples),
        "paced_p50_ms": median(paced),
        "paced_p99_ms": paced[len(paced) * 99 // 100],
        "writes": samples[0].writes,
    }


def table(figures: Figures) -> str:
    rows = {
        "start at idle, p50, ms": ("alone_p50_ms", ".1f"),
        "start at idle, longest, ms": ("alone_max_ms", ".1f"),
        "start under load, p50, ms": ("paced_p50_ms", ".1f"),
        "start under load, p99, ms": ("paced_p99_ms", ".1f"),
        f"load per second (target {figures['rate']:.0f})": ("paced_rate", ".1f"),
        "completed per second": ("rate", ".0f"),
        "worker CPU each, µs": ("worker_us", ".0f"),
        "Postgres CPU each, µs": ("postgres_us", ".0f"),
        "idle worker, % of a core": ("idle_percent", ".2f"),
        "Postgres meanwhile, % of a core": ("idle_postgres_percent", ".2f"),
    }
    contenders, writes = figures["contenders"], figures["contenders"][PARLEY]["writes"]
    title = (
        f"Tasks: {figures['alone']} one at a time, {figures['paced']} under load, {figures['count']} queued in each of "
        f"{figures['rounds']} rounds; idle for {figures['idle_s']:g} s"
    )
    footer = (
        f"{PARLEY}, for {figures['count']} tasks: {writes['events']} events and {writes['attempts']} attempts written, "
        f"{writes['settled']} budgets settled, nothing left reserved"
    )
    return "\n".join([title, *compare_contenders(rows, contenders), footer])


PART = Part("tasks", measure, table)
