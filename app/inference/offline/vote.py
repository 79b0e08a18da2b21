"""How the offline model chooses among options: the one that the material speaks of most. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from app.inference.offline.material import Material, words


class Vote(NamedTuple):
    option: str
    reason: str


def choose(options: Sequence[str], material: Material) -> Vote:
    """The first of those that score best, so that equal votes are equal every time."""
    scores = [sum(material.frequencies[word] for word in set(words(option))) for option in options]
    best = max(scores)
    option = options[scores.index(best)]
    if best == 0:
        return Vote(option, "Nothing in the material speaks for one of the options; the first was taken.")
    shared = sorted({word for word in words(option) if material.frequencies[word]})
    return Vote(option, f"The material speaks of it most: {', '.join(shared)} ({best} times in all).")
