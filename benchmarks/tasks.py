"""Tasks: how soon they start and how many are done in a second, by Parley's worker and by arq's at its defaults."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from statistics import median
from typing import Any

from benchmarks.helper import Helper
from benchmarks.stage import Stage

PARLEY, ARQ = "Parley", "bare arq"
WORKERS = {PARLEY: "benchmarks.servers.worker", ARQ: "benchmarks.servers.bare_arq"}
RATE = 20.0  # tasks a second under load: what one process can delegate on two cores that it shares with all others
# The last one has started by then, also when arq has just polled, and the next falls anywhere between two polls.
PAUSE_S = (0.6, 1.1)
SETTLE_S = 2.0


@dataclass(frozen=True)
class Size:
    rounds: int
    count: int
    alone: int
    paced: int
    idle_s: float


QUICK = Size(rounds=1, count=200, alone=10, paced=60, idle_s=5.0)
NORMAL = Size(rounds=3, count=1_500, alone=20, paced=200, idle_s=20.0)


@dataclass
class Sample:
    rate: float
    worker_us: float
    postgres_us: float
    alone_ms: list[float]
    paced_ms: list[float]
    paced_rate: float
    wrote: dict[str, float]


def measure(stage: Stage, size: Size) -> dict[str, Any]:
    samples: dict[str, list[Sample]] = {name: [] for name in WORKERS}
    delegator = Helper(stage, "benchmarks.delegator")
    try:
        delegator.answer()
        for _ in range(size.rounds):
            for name in WORKERS:
                samples[name].append(_round(stage, delegator, name, size))
        idle = {name: _idle(stage, name, size.idle_s) for name in WORKERS}
    finally:
        delegator.stop()
    contenders = {name: _summary(found) | idle[name] for name, found in samples.items()}
    return {"rounds": size.rounds, "count": size.count, "alone": size.rounds * size.alone, "rate": RATE,
            "paced": size.rounds * size.paced, "idle_s": size.idle_s, "contenders": contenders}  # fmt: skip


def _round(stage: Stage, delegator: Helper, name: str, size: Size) -> Sample:
    delegator.ask(make=name, count=size.count)
    delegator.ask(tidy=True)
    before = delegator.ask(tally=True)
    with _worker(stage, name) as worker:
        worker.ask(expect=size.count)
        cpu_s, postgres_cpu_s = worker.cpu_s(), stage.postgres_cpu_s()
        started = worker.ask(go=True)["at"]
        worker.ask(wait=True)
        finished = delegator.ask(finish=name)["at"]
        worker_us = 1e6 * (worker.cpu_s() - cpu_s) / size.count
        postgres_us = 1e6 * (stage.postgres_cpu_s() - postgres_cpu_s) / size.count
        after = delegator.ask(tally=True)
        refuse_unfinished(name, before, after, size.count)
        time.sleep(SETTLE_S)
        alone, _ = _delays_ms(delegator, worker, name, count=size.alone, pause_s=PAUSE_S)
        paced, paced_rate = _delays_ms(delegator, worker, name, count=size.paced, rate=RATE)
        delegator.ask(finish=name)
    wrote = {key: after[key] - before[key] for key in ("events", "attempts", "settled")}
    return Sample(size.count * 1e9 / (finished - started), worker_us, postgres_us, alone, paced, paced_rate, wrote)


def refuse_unfinished(name: str, before: dict[str, Any], after: dict[str, Any], count: int) -> None:
    """A race in which something was left out says nothing: every task is completed, every budget closed."""
    if name != PARLEY:
        return
    expected = {"completed": count, "attempts": count, "settled": count, "events": 2 * count}
    done = {key: after[key] - before[key] for key in expected}
    if done != expected or after["reserved"] or after["completed"] != after["tasks"]:
        raise AssertionError(f"{count} tasks were to be completed with all that belongs to them, but: {after}")


def _delays_ms(delegator: Helper, worker: Helper, name: str, count: int, **pace: Any) -> tuple[list[float], float]:
    """Delays, and how many a second were in fact made: whether the pace was kept."""
    worker.ask(expect=count)
    made = delegator.ask(make=name, count=count, **pace)["made"]
    starts = worker.ask(wait=True)["starts"]
    took_s = (max(made.values()) - min(made.values())) / 1e9
    return [(starts[key] - at) / 1e6 for key, at in made.items()], (count - 1) / took_s


def _idle(stage: Stage, name: str, seconds: float) -> dict[str, float]:
    """Percent of a core that a worker with nothing to do takes, and what it costs Postgres."""
    with _worker(stage, name) as worker:
        worker.ask(go=True)
        time.sleep(SETTLE_S)
        cpu_s, postgres_cpu_s, started = worker.cpu_s(), stage.postgres_cpu_s(), time.monotonic()
        time.sleep(seconds)
        passed = time.monotonic() - started
        return {
            "idle_percent": 100 * (worker.cpu_s() - cpu_s) / passed,
            "idle_postgres_percent": 100 * (stage.postgres_cpu_s() - postgres_cpu_s) / passed,
        }


@contextmanager
def _worker(stage: Stage, name: str) -> Iterator[Helper]:
    worker = Helper(stage, WORKERS[name])
    try:
        worker.answer()
        yield worker
    finally:
        worker.stop()


def _summary(samples: list[Sample]) -> dict[str, Any]:
    """Medians of the rounds; delays of all rounds together, because there are few in each."""
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
        "wrote": samples[0].wrote,
    }
