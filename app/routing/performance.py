"""Past performance: how well an agent's answers to similar queries were rated lately."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

UNRATED = 0.7  # of an agent without ratings on similar queries
SIMILAR = 0.8  # similarity above which a past query counts
WINDOW = timedelta(days=30)


@dataclass(frozen=True)
class Rating:
    """A rated answer to a past query: the rating and the query's similarity to the present one, both 0 to 1."""

    value: float
    similarity: float
    age: timedelta


def past_performance(ratings: Sequence[Rating]) -> float:
    counted = [rating.value for rating in ratings if rating.similarity > SIMILAR and rating.age <= WINDOW]
    return sum(counted) / len(counted) if counted else UNRATED
