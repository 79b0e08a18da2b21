"""Turns figures into the tables that are printed."""

from __future__ import annotations

from typing import Any

from benchmarks.reads import HANDWRITTEN


def reads(found: dict[str, Any]) -> str:
    lines = [
        f"Reads: {found['connections']} connections, medians of {found['rounds']} interleaved rounds of {found['seconds']:g} s"
    ]
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
                f"  {name:22}{row['rate']:9.0f}{row['rate'] / yardstick['rate']:9.2f}{row['p50_ms']:9.2f}{row['p99_ms']:9.2f}"
                f"{row['server_us']:9.0f}{row['postgres_us']:8.0f}{share:9.2f}"
            )
    lines += ["", "memory, MB               " + ", ".join(f"{name} {mb:.0f}" for name, mb in found["rss_mb"].items())]
    return "\n".join(lines)
