"""`python -m benchmarks [PART …] [--quick | --full]`: measures, prints tables and saves the figures as JSON."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks import results
from benchmarks.part import Depth, Part
from benchmarks.parts import PARTS
from benchmarks.runner import run_parts


def main(
    arguments: Sequence[str] | None = None, *, parts: Sequence[Part] = PARTS, folder: Path = results.FOLDER
) -> int:
    """Returns the exit status: 1 if any part failed."""
    options = _parse(arguments, [part.name for part in parts])
    selected = [part for part in parts if not options.parts or part.name in options.parts]
    failures = run_parts(selected, options.depth, folder)
    print(f"\nFigures: {os.path.relpath(folder / options.depth / results.MERGED)}")
    if failures:
        print(f"Failed: {', '.join(failures)}", file=sys.stderr)
    return 1 if failures else 0


def _parse(arguments: Sequence[str] | None, names: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Measures Parley beside its peers.")
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"one or more of {', '.join(names)}; default: all")
    depth = parser.add_mutually_exclusive_group()
    depth.add_argument("--quick", dest="depth", action="store_const", const=Depth.QUICK, help="shows that it runs")
    depth.add_argument("--full", dest="depth", action="store_const", const=Depth.FULL, help="60,000 fan-out events")
    parser.set_defaults(depth=Depth.NORMAL)
    options = parser.parse_args(arguments)
    if unknown := set(options.parts) - set(names):
        parser.error(f"unknown part: {', '.join(sorted(unknown))}. Choose from {', '.join(names)}.")
    return options


if __name__ == "__main__":
    sys.exit(main())
