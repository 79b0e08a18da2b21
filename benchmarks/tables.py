"""Turns figures into the tables that are printed."""

from __future__ import annotations

from statistics import median
from typing import Any

from benchmarks.reads import HANDWRITTEN
from benchmarks.tasks import PARLEY


def reads(found: dict[str, Any]) -> str:
    rounds = f"{found['rounds']} interleaved rounds of {found['seconds']:g} s"
    lines = [f"Reads: {found['connections']} connections, medians of {rounds}"]
    for operation, by in found["operations"].items():
        yardstick = by[HANDWRITTEN]
        lines += [
            "",
            f"{operation:24}{'req/s':>9}{'of hand':>9}{'p50 ms':>9}{'p99 ms':>9}{'µs CPU':>9}{'+ PG':>8}{'of hand':>9}",
        ]
        for name, row in by.items():
            total = row["server_us"] + row["postgres_us"]
            share = total / (yardstick["server_us"] + yardstick["postgres_us"])
            lines.append(
                f"  {name:22}{row['rate']:9.0f}{row['rate'] / yardstick['rate']:9.2f}"
                f"{row['p50_ms']:9.2f}{row['p99_ms']:9.2f}{row['server_us']:9.0f}{row['postgres_us']:8.0f}{share:9.2f}"
            )
    lines += ["", "memory, MB               " + ", ".join(f"{name} {mb:.0f}" for name, mb in found["rss_mb"].items())]
    return "\n".join(lines)


def fanout(found: dict[str, Any]) -> str:
    rows = {
        "deliveries a second, unpaced": ("rate", ".0f"),
        "server CPU a delivery, µs": ("cpu_us", ".1f"),
        "p50 at 5 events/s, ms": ("p50_ms", ".1f"),
        "p99 at 5 events/s, ms": ("p99_ms", ".1f"),
        "memory a client, kB": ("kb_a_client", ".1f"),
        "unpaced, one client stalled": ("stalled_rate", ".0f"),
        "p99, one client stalled, ms": ("stalled_p99_ms", ".1f"),
        "memory after a tenth, MB": ("flat_from_mb", ".1f"),
        "memory at the end, MB": ("flat_to_mb", ".1f"),
    }
    contenders = found["contenders"]
    lines = [
        "",
        f"Fan-out: {found['clients']} clients, {found['burst']} events unpaced, medians of {found['rounds']} rounds; "
        f"memory over {found['flat_events']} events to {found['flat_clients']} clients",
        " " * 32 + "".join(f"{name:>18}" for name in contenders),
    ]
    return "\n".join([*lines, *_by_contender(rows, contenders)])


def tasks(found: dict[str, Any]) -> str:
    rows = {
        "start at idle, p50, ms": ("alone_p50_ms", ".1f"),
        "start at idle, longest, ms": ("alone_max_ms", ".1f"),
        "start under load, p50, ms": ("paced_p50_ms", ".1f"),
        "start under load, p99, ms": ("paced_p99_ms", ".1f"),
        f"load, {found['rate']:.0f} a second wanted": ("paced_rate", ".1f"),
        "done a second": ("rate", ".0f"),
        "worker CPU each, µs": ("worker_us", ".0f"),
        "Postgres CPU each, µs": ("postgres_us", ".0f"),
        "idle worker, % of a core": ("idle_percent", ".2f"),
        "Postgres then, % of a core": ("idle_postgres_percent", ".2f"),
    }
    contenders, wrote = found["contenders"], found["contenders"][PARLEY]["wrote"]
    lines = [
        "",
        f"Tasks: {found['alone']} one at a time, {found['paced']} under load, {found['count']} waiting ones in each of "
        f"{found['rounds']} rounds; idle for {found['idle_s']:g} s",
        " " * 32 + "".join(f"{name:>18}" for name in contenders),
    ]
    told = f"{wrote['events']} events and {wrote['attempts']} attempts written, {wrote['settled']} budgets settled"
    lines += [*_by_contender(rows, contenders), f"{PARLEY}, for {found['count']} tasks: {told}, nothing reserved"]
    return "\n".join(lines)


def _by_contender(rows: dict[str, tuple[str, str]], contenders: dict[str, dict[str, Any]]) -> list[str]:
    return [
        f"{title:32}" + "".join(f"{format(row[key], form):>18}" for row in contenders.values())
        for title, (key, form) in rows.items()
    ]


CURVE = {"routed": 14, "shared": 9, "falls_back": 16}


def routing(found: dict[str, Any]) -> str:
    lines = [f"Routing quality: {found['embedder']}, share of queries in %", ""]
    lines += [f"{'':26}{'queries':>9}{'first':>8}{'routed':>8}{'falls back':>12}"]
    for way in ("plain cosine", "blended"):
        for half, kinds in found[way].items():
            lines.append(f"{way}, {half}")
            for kind, row in kinds.items():
                if kind == "fallback":
                    lines.append(f"  {'of all that fall back, off-topic':48}{row['precision'] * 100:13.1f}")
                else:
                    shares = (f"{row[key] * 100:.1f}" for key in ("first", "routed"))
                    first, routed = ("", "") if kind.startswith("off_topic") else shares
                    lines.append(
                        f"  {kind:24}{row['queries']:9.0f}{first:>8}{routed:>8}{row['falls_back'] * 100:12.1f}"
                    )
    unseen = ", ".join(f"{way} {share * 100:.1f}" for way, share in found["unseen"].items())
    lines += ["", f"First on 90 indirect texts written after an earlier matcher: {unseen}"]
    lines += ["", f"{'needs rated before':>20}{'routed again':>14}{'shared':>9}{'off-topic back':>16}"]
    for percent, row in found["curve"].items():
        lines.append(f"{percent:>18} %" + "".join(f"{row[key] * 100:{width}.1f}" for key, width in CURVE.items()))
    lines += ["", f"{'agents':>8}{'score µs':>10}{'cosine µs':>11}{'ratio':>8}{'with embedding µs':>19}{'p99 µs':>9}"]
    for size, row in found["speed"].items():
        ratio = row["score_us"] / row["cosine_us"]
        lines.append(
            f"{size:8}{row['score_us']:10.0f}{row['cosine_us']:11.1f}{ratio:8.1f}"
            f"{row['whole_us']:19.0f}{row['whole_p99_us']:9.0f}"
        )
    return "\n".join(lines)


def route(found: dict[str, Any]) -> str:
    by = found["by_processes"]
    heads = "".join(f"{f'{count} process(es)':>16}" for count in by)
    title = f"routeMessage: {found['callers']} callers, {found['agents']} agents, medians of rounds"
    lines = ["", title, f"{'':24}{heads}"]
    for figure in next(iter(by.values()))[0]:
        medians = (median(one[figure] for one in rounds) for rounds in by.values())
        lines.append(f"{figure:24}{''.join(f'{value:16.2f}' for value in medians)}")
    return "\n".join(lines)


def analytics(found: dict[str, Any]) -> str:
    lines = [
        "",
        f"Analytics: {found['decisions']:,} decisions (written in {found['written_s']:.0f} s), medians of "
        f"{found['rounds']} rounds",
        f"{'':40}{PARLEY + ', ms':>14}{HANDWRITTEN + ', ms':>24}{'ratio':>8}",
    ]
    for name, row in found["questions"].items():
        lines.append(f"{name:40}{row[PARLEY]:14.1f}{row[HANDWRITTEN]:24.1f}{row[PARLEY] / row[HANDWRITTEN]:8.2f}")
    return "\n".join(lines)


def simulate(found: dict[str, Any]) -> str:
    seconds, cpu = found["seconds"], found["postgres_cpu_s"]
    lines = [
        "",
        f"Simulation: {found['decisions']:,} decisions, {found['flips']:,} flips, medians of {found['rounds']} rounds",
        f"{'':24}{'s':>10}{'CPU of Postgres, s':>24}",
        *(f"{name:24}{seconds[name]:10.2f}{cpu[name]:24.2f}" for name in seconds),
        f"{'ratio':24}{seconds[PARLEY] / seconds[HANDWRITTEN]:10.2f}{cpu[PARLEY] / cpu[HANDWRITTEN]:24.2f}",
    ]
    return "\n".join(lines)


def dashboard(found: dict[str, Any]) -> str:
    frames = f"p50 {found['frame_p50_ms']:.1f}, p95 {found['frame_p95_ms']:.1f}, longest {found['frame_max_ms']:.0f} ms"
    return "\n".join(
        [
            "",
            f"Dashboard: {found['spans']:,} spans in 20 lanes, {found['session_rate']:.0f} events a second for "
            f"{found['session_s']} s: {found['frames']} frames, {frames}; lanes drawn {found['drawings']} times, "
            f"{found['long_tasks']} tasks of 50 ms or more, the longest {found['task_max_ms']:.0f} ms",
            f"a feed of {found['feed_rate']:.0f} events a second for {found['feed_s']} s, {found['feed_shown']} shown: "
            f"heap {found['heap_from_mb']:.1f} MB after a sixth, {found['heap_to_mb']:.1f} MB at the end; "
            f"{found['nodes_from']:,} and {found['nodes_to']:,} nodes of the document",
        ]
    )
