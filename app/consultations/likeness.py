"""How much two texts ask or say the same, 0 to 1, on the calibrated scale of routing: above SAME they ask for the very
same, above SIMILAR for the same matter. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from app.embeddings.embedder import Vectors
from app.routing.calibration import Calibration, similarity
from app.routing.performance import SIMILAR
from app.routing.words import stem, words

SAME = 0.95
ALMOST = 0.94  # what two texts have at most that differ in a name, a number or a word each
LONGEST = 2_000  # characters of a text that are compared
__all__ = ["ALMOST", "LONGEST", "SAME", "SIMILAR", "Likeness", "overlap", "particulars", "stems_of"]
# Names, numbers, paths and what stands in backticks: texts that differ in one ask for something else.
_PARTICULAR = re.compile(
    r"`([^`\n]{1,80})`|(?<![\w/.-])((?:/[\w{}:.-]+)+|[\w-]+(?:[./_:][\w{}-]+)+|\w*\d[\w%.]*|[a-z]+[A-Z]\w*|[A-Z]{2,}\w*)"
)


@lru_cache(maxsize=2_000)
def particulars(text: str) -> frozenset[str]:
    found = (one or other for one, other in _PARTICULAR.findall(text[:LONGEST]))
    return frozenset(name.strip(".,:;?!-").lower() for name in found) - {""}


@lru_cache(maxsize=2_000)
def stems_of(text: str) -> frozenset[str]:
    return frozenset(stem(word) for word in words(text[:LONGEST]))


def overlap(one: str, other: str) -> float:
    """The share of the shorter text's words that the other has, too."""
    mine, its = stems_of(one), stems_of(other)
    return len(mine & its) / max(min(len(mine), len(its)), 1)


@dataclass(frozen=True)
class Likeness:
    """`vectors` by text, as far as they are known; texts without one are compared by their words."""

    vectors: Mapping[str, Vectors] = field(default_factory=dict)
    calibration: Calibration | None = None

    def __call__(self, one: str, other: str) -> float:
        one, other = one[:LONGEST], other[:LONGEST]
        if one.casefold().split() == other.casefold().split():
            return 1.0
        found = self._measured(one, other)
        return min(found, ALMOST) if _differ(one, other) else found

    def _measured(self, one: str, other: str) -> float:
        mine, its = self.vectors.get(one), self.vectors.get(other)
        if mine is None or its is None or self.calibration is None or not (mine.any() and its.any()):
            return _shared(stems_of(one), stems_of(other))
        return similarity(self.calibration, float(mine @ its))


def _differ(one: str, other: str) -> bool:
    """In a particular, or each has a word of meaning that the other lacks: 'users' here, 'orders' there."""
    mine, its = stems_of(one), stems_of(other)
    return particulars(one) != particulars(other) or bool(mine - its and its - mine)


def _shared(mine: frozenset[str], its: frozenset[str]) -> float:
    return len(mine & its) / len(mine | its) if mine | its else 0.0
