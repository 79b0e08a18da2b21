"""Builds rows that several tables share."""

from __future__ import annotations

from typing import Any

LABEL_WIDTH, COLUMN_WIDTH = 32, 18


def compare_contenders(rows: dict[str, tuple[str, str]], contenders: dict[str, dict[str, Any]]) -> list[str]:
    """Returns a heading and one line per row. `rows`: label to figure and number format; one column per contender."""
    heading = " " * LABEL_WIDTH + "".join(f"{name:>{COLUMN_WIDTH}}" for name in contenders)
    lines = [
        f"{label:{LABEL_WIDTH}}" + "".join(f"{format(row[key], form):>{COLUMN_WIDTH}}" for row in contenders.values())
        for label, (key, form) in rows.items()
    ]
    return [heading, *lines]
