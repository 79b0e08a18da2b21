"""`python -m benchmarks [PART] [--quick | --full]`: prints tables and keeps the figures as JSON."""

from __future__ import annotations

import argparse
import json
import os
import platform
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psutil

from benchmarks import analytics, dashboard, fanout, reads, route, routing_quality, simulate, tables, tasks
from benchmarks.stage import stage

RESULTS = Path(__file__).parent / "results" / "latest.json"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument(
        "what",
        nargs="?",
        choices=("reads", "fanout", "tasks", "routing", "route", "analytics", "simulate", "dashboard", "all"),
        default="all",
    )
    depth = parser.add_mutually_exclusive_group()
    depth.add_argument("--quick", action="store_true", help="two short rounds: whether it runs, not how fast")
    depth.add_argument("--full", action="store_true", help="60,000 events to show that memory stays flat")
    chosen = parser.parse_args()
    found: dict[str, Any] = {"at": datetime.now(UTC).isoformat(timespec="seconds"), "machine": machine()}
    if chosen.what in ("routing", "all"):
        found["routing"] = routing_quality.measure(rounds=1 if chosen.quick else 5)
        print(tables.routing(found["routing"]), flush=True)
    if chosen.what != "routing":
        on_servers(chosen, found)
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps(found, indent=1) + "\n")
    print(f"\nKept in {os.path.relpath(RESULTS)}")


def on_servers(chosen: argparse.Namespace, found: dict[str, Any]) -> None:
    with stage() as set_up:
        if chosen.what in ("reads", "all"):
            rounds, seconds = (2, 1.0) if chosen.quick else (5, 3.0)
            found["reads"] = reads.measure(set_up, rounds=rounds, seconds=seconds)
            print(tables.reads(found["reads"]), flush=True)
        if chosen.what in ("fanout", "all"):
            size = fanout.QUICK if chosen.quick else fanout.FULL if chosen.full else fanout.NORMAL
            found["fanout"] = fanout.measure(set_up, size)
            print(tables.fanout(found["fanout"]), flush=True)
        if chosen.what in ("tasks", "all"):
            found["tasks"] = tasks.measure(set_up, tasks.QUICK if chosen.quick else tasks.NORMAL)
            print(tables.tasks(found["tasks"]), flush=True)
        if chosen.what in ("route", "all"):
            rounds, seconds = (1, 2.0) if chosen.quick else (5, 5.0)
            found["route"] = route.measure(set_up, rounds=rounds, seconds=seconds)
            print(tables.route(found["route"]), flush=True)
        if chosen.what in ("analytics", "all"):
            rounds, count = (2, 50_000) if chosen.quick else (9, analytics.COUNT)
            found["analytics"] = analytics.measure(set_up, rounds=rounds, count=count)
            print(tables.analytics(found["analytics"]), flush=True)
        if chosen.what in ("simulate", "all"):
            rounds, count = (1, 50_000) if chosen.quick else (5, simulate.COUNT)
            found["simulate"] = simulate.measure(set_up, rounds=rounds, count=count)
            print(tables.simulate(found["simulate"]), flush=True)
        if chosen.what in ("dashboard", "all") and not dashboard.is_possible():
            print("\nDashboard: not measured, there is no Chromium on this machine", flush=True)
        elif chosen.what in ("dashboard", "all"):
            found["dashboard"] = dashboard.measure(set_up, dashboard.QUICK if chosen.quick else dashboard.NORMAL)
            print(tables.dashboard(found["dashboard"]), flush=True)


def machine() -> dict[str, Any]:
    memory_gb = round(psutil.virtual_memory().total / 1e9)
    return {
        "cores": os.cpu_count(),
        "memory_gb": memory_gb,
        "python": platform.python_version(),
        "load": os.getloadavg()[0],
    }


if __name__ == "__main__":
    main()
