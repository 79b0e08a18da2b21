"""Keeps the figures of each part in a file of its own, by depth, and merges them into `latest.json`."""

from __future__ import annotations

import json
import os
import platform
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psutil

from benchmarks.part import Depth, Figures

FOLDER = Path(__file__).parent / "results"
MERGED = "latest.json"


def save(folder: Path, part: str, depth: Depth, figures: Figures, left_out: list[str]) -> Figures:
    """Writes one part's figures; those of other parts stay. Returns them as they are read back."""
    target = folder / depth
    target.mkdir(parents=True, exist_ok=True)
    result = {"at": datetime.now(UTC).isoformat(timespec="seconds"), "machine": describe_machine(),
              "left_out": left_out, "figures": figures}  # fmt: skip
    _write(target / f"{part}.json", result)
    _write(target / MERGED, {file.stem: json.loads(file.read_text()) for file in _part_files(target)})
    saved: Figures = json.loads((target / f"{part}.json").read_text())["figures"]
    return saved


def describe_machine() -> dict[str, Any]:
    return {
        "cores": os.cpu_count(),
        "memory_gb": round(psutil.virtual_memory().total / 1e9),
        "python": platform.python_version(),
        "load": os.getloadavg()[0],
    }


def _part_files(folder: Path) -> list[Path]:
    return sorted(file for file in folder.glob("*.json") if file.name != MERGED)


def _write(file: Path, content: dict[str, Any]) -> None:
    """Replaces the file in one step, so that an interrupted run leaves the old figures intact."""
    partial = file.with_suffix(".partial")
    partial.write_text(json.dumps(content, indent=1) + "\n")
    partial.replace(file)
