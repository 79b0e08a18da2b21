"""Routing quality and speed: how often labelled queries reach their agent, beside plain cosine, and how fast.

Only the held-out half is evidence: rules and constants were tuned on the other. Needs no server and no network.
"""

from __future__ import annotations

from benchmarks.part import Depth, Figures, OpenTestbed, Part
from benchmarks.routing_quality import TEAM_SIZES, RoutingBenchmark
from tests.fixtures.labelled import held_out, profiles, tuning


def measure(open_testbed: OpenTestbed, depth: Depth) -> Figures:
    rounds = 1 if depth is Depth.QUICK else 5
    benchmark = RoutingBenchmark()
    index = benchmark.build_index(profiles())
    halves = {"tuning": tuning(), "held out": held_out()}
    return {
        "embedder": benchmark.embedder.name,
        "blended": {
            name: benchmark.score(queries, benchmark.blended_matcher(index)) for name, queries in halves.items()
        },
        "plain cosine": {
            name: benchmark.score(queries, benchmark.cosine_matcher(index)) for name, queries in halves.items()
        },
        "unseen": benchmark.score_unseen(index),
        "curve": benchmark.learning_curve(),
        "speed": {size: benchmark.measure_speed(size, rounds) for size in TEAM_SIZES},
    }


def table(figures: Figures) -> str:
    return "\n".join(
        [*_quality_lines(figures), "", *_curve_lines(figures["curve"]), "", *_speed_lines(figures["speed"])]
    )


def _quality_lines(figures: Figures) -> list[str]:
    lines = [f"Routing quality: {figures['embedder']}, share of queries in %", ""]
    lines += [f"{'':26}{'queries':>9}{'first':>8}{'routed':>8}{'falls back':>12}"]
    for matcher in ("plain cosine", "blended"):
        for half, groups in figures[matcher].items():
            lines += [f"{matcher}, {half}", *(_group_line(group, row) for group, row in groups.items())]
    unseen = ", ".join(f"{matcher} {share * 100:.1f}" for matcher, share in figures["unseen"].items())
    return [*lines, "", f"First on 90 indirect texts written after an earlier matcher: {unseen}"]


def _group_line(group: str, row: dict[str, float]) -> str:
    if group == "fallback":
        return f"  {'off-topic among all that fall back':48}{row['precision'] * 100:13.1f}"
    first, routed = (f"{row[key] * 100:.1f}" for key in ("first", "routed"))
    if group.startswith("off_topic"):
        first = routed = ""
    return f"  {group:24}{row['queries']:9.0f}{first:>8}{routed:>8}{row['falls_back'] * 100:12.1f}"


def _curve_lines(curve: dict[str, dict[str, float]]) -> list[str]:
    heading = f"{'needs rated before':>20}{'routed again':>14}{'shared':>9}{'off-topic back':>16}"
    widths = {"routed": 14, "shared": 9, "falls_back": 16}
    return [
        heading,
        *(
            f"{percent:>18} %" + "".join(f"{row[key] * 100:{width}.1f}" for key, width in widths.items())
            for percent, row in curve.items()
        ),
    ]


def _speed_lines(speed: dict[str, dict[str, float]]) -> list[str]:
    heading = f"{'agents':>8}{'score µs':>10}{'cosine µs':>11}{'ratio':>8}{'with embedding µs':>19}{'p99 µs':>9}"
    return [
        heading,
        *(
            f"{size:>8}{row['score_us']:10.0f}{row['cosine_us']:11.1f}{row['score_us'] / row['cosine_us']:8.1f}"
            f"{row['whole_us']:19.0f}{row['whole_p99_us']:9.0f}"
            for size, row in speed.items()
        ),
    ]


PART = Part("routing", measure, table)
