"""Runs parts one after the other. A part that fails is reported, and the next one still runs."""

from __future__ import annotations

import sys
import time
import traceback
from collections.abc import Sequence
from pathlib import Path

from benchmarks.part import Depth, Need, Part
from benchmarks.results import save
from benchmarks.services import Services


def run_parts(parts: Sequence[Part], depth: Depth, folder: Path) -> list[str]:
    """Measures each part, saves its figures and prints its table. Returns the names of the parts that failed."""
    failures = []
    with Services() as services:
        for part in parts:
            if reasons := _missing(part.needs):
                print(f"\n{part.name}: left out, because {'; '.join(reasons)}.", flush=True)
                continue
            try:
                _run_part(part, depth, services, folder)
            except Exception:
                failures.append(part.name)
                print(f"\n{part.name}: failed.", flush=True)
                traceback.print_exc(file=sys.stderr)
    return failures


def _run_part(part: Part, depth: Depth, services: Services, folder: Path) -> None:
    left_out = _missing(part.options)
    for reason in left_out:
        print(f"\n{part.name}: contenders are left out, because {reason}.", flush=True)
    started = time.monotonic()
    figures = part.measure(services.open_testbed, depth)
    seconds = time.monotonic() - started
    # Printed from what was saved, so that a table never shows more than the file holds.
    table = part.table(save(folder, part.name, depth, figures, left_out))
    print(f"\n{table}\n({part.name}, {depth}: {seconds:.0f} s)", flush=True)


def _missing(needs: Sequence[Need]) -> list[str]:
    return [reason for need in needs if (reason := need.missing())]
