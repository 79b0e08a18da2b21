"""Says whether two values of a team's settings are the same."""

from __future__ import annotations

from typing import Any


def same(one: Any, other: Any) -> bool:
    """Equal also in kind: Python takes 1 and true for equal, a context variable does not."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    return bool(one == other) and isinstance(one, bool) == isinstance(other, bool)
