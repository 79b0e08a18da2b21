"""How far votes agree. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Agreement:
    """`share` is that of the votes for the leading option, 0 to 1; in a tie the first in the options' order leads."""

    option: str | None
    votes: int
    cast: int
    share: float

    def reaches(self, threshold: float) -> bool:
        # Shares are quotients: two of three votes must reach a threshold of two thirds however it was written.
        return self.cast > 0 and self.share + 1e-6 >= threshold


def agreement(options: Sequence[str], votes: Sequence[str]) -> Agreement:
    counts = Counter(votes)
    leading = max(options, key=lambda option: counts[option], default=None)
    if not votes or leading is None:
        return Agreement(None, 0, len(votes), 0.0)
    return Agreement(leading, counts[leading], len(votes), counts[leading] / len(votes))
