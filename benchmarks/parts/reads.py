"""Reads: each contender in a process of its own, loaded one at a time, in interleaved rounds."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from statistics import median
from typing import Any

from benchmarks.contenders import HANDWRITTEN, Contender, check_same_answers, start_contenders
from benchmarks.needs import NODE
from benchmarks.operations import OPERATIONS
from benchmarks.part import Depth, Figures, OpenTestbed, Part
from benchmarks.processes import run_load
from benchmarks.testbed import Testbed

CONNECTIONS = 16
MAX_WARM_UP_S = 1.0


@dataclass(frozen=True)
class Size:
    rounds: int
    seconds: float


QUICK = Size(rounds=1, seconds=0.3)
NORMAL = Size(rounds=5, seconds=3.0)


@dataclass
class Sample:
    rate: float
    p50_ms: float
    p99_ms: float
    server_us: float
    postgres_us: float


def measure(open_testbed: OpenTestbed, depth: Depth) -> Figures:
    size = QUICK if depth is Depth.QUICK else NORMAL
    with open_testbed() as testbed:
        contenders = start_contenders(testbed)
        check_same_answers(contenders)
        for contender in contenders:
            for operation in OPERATIONS:  # warms caches, plans and compilers
                _load(testbed, contender, operation, min(size.seconds, MAX_WARM_UP_S))
        samples = _run_rounds(testbed, contenders, size)
        memory = {contender.server.name: contender.server.rss_mb() for contender in contenders}
    operations = {
        operation: {name: _summarize(rounds) for name, rounds in by_contender.items()}
        for operation, by_contender in samples.items()
    }
    return {**asdict(size), "connections": CONNECTIONS, "rss_mb": memory, "operations": operations}


def _run_rounds(testbed: Testbed, contenders: list[Contender], size: Size) -> dict[str, dict[str, list[Sample]]]:
    samples: dict[str, dict[str, list[Sample]]] = {
        operation: {contender.server.name: [] for contender in contenders} for operation in OPERATIONS
    }
    for _ in range(size.rounds):
        for operation in OPERATIONS:
            for contender in contenders:
                samples[operation][contender.server.name].append(_load(testbed, contender, operation, size.seconds))
    return samples


def _load(testbed: Testbed, contender: Contender, operation: str, seconds: float) -> Sample:
    server_cpu_s, postgres_cpu_s = contender.server.cpu_s(), testbed.postgres_cpu_s()
    report = run_load([contender.server.port], contender.raw_requests(operation), CONNECTIONS, seconds)
    if report["failed"]:
        raise AssertionError(f"{contender.server.name} refused {report['failed']} requests of {operation}")
    count = report["requests"]
    return Sample(
        count / report["seconds"],
        report["p50_ms"],
        report["p99_ms"],
        1e6 * (contender.server.cpu_s() - server_cpu_s) / count,
        1e6 * (testbed.postgres_cpu_s() - postgres_cpu_s) / count,
    )


def _summarize(samples: list[Sample]) -> dict[str, Any]:
    names = ("rate", "p50_ms", "p99_ms", "server_us", "postgres_us")
    medians = {name: median(getattr(sample, name) for sample in samples) for name in names}
    return medians | {"rates": [round(sample.rate, 1) for sample in samples]}


def table(figures: Figures) -> str:
    rounds = f"{figures['rounds']} interleaved rounds of {figures['seconds']:g} s"
    lines = [f"Reads: {figures['connections']} connections, medians of {rounds}; ratios to {HANDWRITTEN}"]
    for operation, contenders in figures["operations"].items():
        baseline = contenders[HANDWRITTEN]
        baseline_us = baseline["server_us"] + baseline["postgres_us"]
        lines += [
            "",
            f"{operation:24}{'req/s':>9}{'ratio':>9}{'p50 ms':>9}{'p99 ms':>9}{'CPU µs':>9}{'+ PG':>8}{'ratio':>9}",
        ]
        for name, row in contenders.items():
            cpu_ratio = (row["server_us"] + row["postgres_us"]) / baseline_us
            lines.append(
                f"  {name:22}{row['rate']:9.0f}{row['rate'] / baseline['rate']:9.2f}{row['p50_ms']:9.2f}"
                f"{row['p99_ms']:9.2f}{row['server_us']:9.0f}{row['postgres_us']:8.0f}{cpu_ratio:9.2f}"
            )
    lines += ["", "memory, MB               " + ", ".join(f"{name} {mb:.0f}" for name, mb in figures["rss_mb"].items())]
    return "\n".join(lines)


PART = Part("reads", measure, table, options=(NODE,))
