"""`simulateRouting` over a million decisions of six candidates, beside hand-written SQL that answers the same.

Both must agree on flips, the change of each agent, costs, known ratings and the newest flips.
"""

from __future__ import annotations

import asyncio
import http.client
import time
from collections import Counter
from dataclasses import dataclass
from statistics import median
from typing import Any

import asyncpg

from benchmarks.contenders import HANDWRITTEN, PARLEY
from benchmarks.decisions import write_decisions
from benchmarks.graphql_client import fetch_graphql
from benchmarks.part import Depth, Figures, OpenTestbed, Part
from benchmarks.processes import python
from benchmarks.simulate_by_hand import AGENT_FIGURES, EXAMPLES, simulate_by_hand
from benchmarks.testbed import Testbed

TOTALS = ("replayed", "flips", "selectionsChanged", "fallbacksBefore", "fallbacksAfter")
RESPONSE_TIMEOUT_S = 90
QUERY = f"""{{
  simulateRouting(
    weights: {{skillMatch: 0.3, pastPerformance: 0.25, personalityFit: 0.25, loadBalance: 0.2}}, examples: {EXAMPLES}
  ) {{
    replayed flips selectionsChanged fallbacksBefore fallbacksAfter
    agents {{ agentId firstBefore firstAfter selectedBefore selectedAfter }}
    cost {{ before after }} ratings {{ kept {{ count mean }} flipped {{ count mean }} newChoice {{ count mean }} }}
    examples {{ routingDecisionId explanation }}
  }}
}}"""


@dataclass(frozen=True)
class Size:
    rounds: int
    decisions: int


QUICK = Size(rounds=1, decisions=20_000)
NORMAL = Size(rounds=5, decisions=1_000_000)


@dataclass
class Sample:
    """One simulation: its contender, the wall-clock seconds and the CPU seconds of Postgres."""

    contender: str
    seconds: float
    postgres_cpu_s: float


def measure(open_testbed: OpenTestbed, depth: Depth) -> Figures:
    size = QUICK if depth is Depth.QUICK else NORMAL
    with open_testbed() as testbed:
        write_decisions(testbed.database_url, testbed.seed.team_id, count=size.decisions)
        timeouts = {"PARLEY_STATEMENT_TIMEOUT_MS": "60000", "PARLEY_OPERATION_TIMEOUT_S": str(RESPONSE_TIMEOUT_S)}
        server = testbed.start_server(PARLEY, python("app.cli", "serve"), **timeouts)
        return {"rounds": size.rounds, **asyncio.run(_run_rounds(testbed, server.port, size.rounds))}


async def _run_rounds(testbed: Testbed, port: int, rounds: int) -> Figures:
    settings = {"jit": "off", "work_mem": "256MB", "enable_sort": "off"}
    connections = [await asyncpg.connect(testbed.database_url, server_settings=settings) for _ in range(2)]
    samples: list[Sample] = []
    answer: dict[str, Any] = {}
    try:
        for _ in range(rounds + 1):
            started, cpu_s = time.perf_counter(), testbed.postgres_cpu_s()
            answer = _simulate_by_parley(testbed, port)
            samples.append(_sample(testbed, PARLEY, started, cpu_s))
            started, cpu_s = time.perf_counter(), testbed.postgres_cpu_s()
            expected = await simulate_by_hand(connections, testbed.seed.team_id)
            samples.append(_sample(testbed, HANDWRITTEN, started, cpu_s))
            _check_same_answer(answer, expected)
    finally:
        for connection in connections:
            await connection.close()
    return {"decisions": answer["replayed"], "flips": answer["flips"], **_summarize(samples[2:])}  # first: warm-up


def _sample(testbed: Testbed, contender: str, started: float, cpu_s: float) -> Sample:
    return Sample(contender, time.perf_counter() - started, testbed.postgres_cpu_s() - cpu_s)


def _summarize(samples: list[Sample]) -> Figures:
    def medians(figure: str) -> dict[str, float]:
        return {
            contender: median(getattr(sample, figure) for sample in samples if sample.contender == contender)
            for contender in (PARLEY, HANDWRITTEN)
        }

    return {"seconds": medians("seconds"), "postgres_cpu_s": medians("postgres_cpu_s")}


def _simulate_by_parley(testbed: Testbed, port: int) -> Any:
    """Uses a new connection each time: the server closes one that idles while the slow statement runs beside it."""
    client = http.client.HTTPConnection("127.0.0.1", port, timeout=RESPONSE_TIMEOUT_S)
    try:
        return fetch_graphql(client, testbed.seed.secret, QUERY)["data"]["simulateRouting"]
    finally:
        client.close()


def _check_same_answer(answer: dict[str, Any], expected: dict[str, Any]) -> None:
    """Raises AssertionError unless Parley and the hand-written SQL agree."""
    ratings = {name: (rating["count"], round(rating["mean"], 6)) for name, rating in answer["ratings"].items()}
    agents = {
        figure: +Counter({agent["agentId"]: agent[figure] for agent in answer["agents"]}) for figure in AGENT_FIGURES
    }
    actual = {
        **{name: answer[name] for name in TOTALS},
        **ratings,
        **agents,
        "cost": tuple(round(float(answer["cost"][side]), 2) for side in ("before", "after")),
        "examples": [example["routingDecisionId"] for example in answer["examples"]],
    }
    if different := [name for name in expected if expected[name] != actual[name]]:
        raise AssertionError(
            f"by hand {[expected[name] for name in different]}, Parley {[actual[name] for name in different]}"
        )


def table(figures: Figures) -> str:
    seconds, cpu_s = figures["seconds"], figures["postgres_cpu_s"]
    return "\n".join(
        [
            f"Simulation: {figures['decisions']:,} decisions, {figures['flips']:,} flips, "
            f"medians of {figures['rounds']} rounds",
            f"{'':24}{'s':>10}{'CPU of Postgres, s':>24}",
            *(f"{name:24}{seconds[name]:10.2f}{cpu_s[name]:24.2f}" for name in seconds),
            f"{'ratio':24}{seconds[PARLEY] / seconds[HANDWRITTEN]:10.2f}{cpu_s[PARLEY] / cpu_s[HANDWRITTEN]:24.2f}",
        ]
    )


PART = Part("simulate", measure, table)
