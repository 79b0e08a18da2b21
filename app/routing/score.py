"""The ExpertGate's score: four signals of 0 to 1, weighted. Exact and the same everywhere.

Signals and weights are counted in ten-thousandths, so that the weighted sum is a sum of whole numbers: no machine,
library or SQL dialect can round it otherwise, ties are ties, and a stored decision computes to the same score for ever.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from typing import NamedTuple

from app.errors import InvalidInput

UNITS = 10_000


def units(value: float) -> int:
    return round(value * UNITS)


class _Signals(NamedTuple):
    skill_match: float
    past_performance: float
    personality_fit: float
    load_balance: float


class Signals(_Signals):
    """Each 0 to 1, kept to four decimals; what comes in beyond them is cut to the range. A tuple, as candidates and
    scores are: a query has one for each agent, and a team may have a thousand."""

    __slots__ = ()

    def __new__(
        cls, skill_match: float, past_performance: float, personality_fit: float, load_balance: float
    ) -> Signals:
        given = (skill_match, past_performance, personality_fit, load_balance)
        return cls.of_kept(*map(kept, cls._fields, given))

    @classmethod
    def of_kept(
        cls, skill_match: float, past_performance: float, personality_fit: float, load_balance: float
    ) -> Signals:
        """Of values that `kept` made."""
        return tuple.__new__(cls, (skill_match, past_performance, personality_fit, load_balance))


def kept(name: str, value: float) -> float:
    """Cut to the range and to four decimals; raises InvalidInput for what is no number."""
    if not math.isfinite(value):
        raise InvalidInput.of(name, "must be a number from 0 to 1")
    return units(min(max(value, 0.0), 1.0)) / UNITS


@dataclass(frozen=True)
class Weights:
    """Four shares that sum to 1; at most four decimals count. Raises InvalidInput."""

    skill_match: float = 0.40
    past_performance: float = 0.25
    personality_fit: float = 0.20
    load_balance: float = 0.15

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if not math.isfinite(value) or not 0 <= value <= 1:
                raise InvalidInput.of(f"weights.{name}", "must be a number from 0 to 1")
            object.__setattr__(self, name, units(value) / UNITS)
        total = sum(map(units, vars(self).values()))
        if total != UNITS:
            raise InvalidInput.of("weights", f"must sum to 1, not to {total / UNITS}")


class Candidate(NamedTuple):
    """An agent that could answer, with everything that its score depends on."""

    slug: str
    name: str
    signals: Signals
    matching_skills: tuple[str, ...] = ()


class Score(NamedTuple):
    candidate: Candidate
    overall: float


def overall(signals: Signals, weights: Weights) -> float:
    return _points(signals, _in_units(weights)) / UNITS**2


def ranked(candidates: Iterable[Candidate], weights: Weights) -> list[Score]:
    """Best first. Equal scores: the better skill match, then the lighter load, then the slug, which is unique."""
    counted = _in_units(weights)
    scores = [Score(candidate, _points(candidate.signals, counted) / UNITS**2) for candidate in candidates]
    return sorted(scores, key=_order)


def _in_units(weights: Weights) -> tuple[int, ...]:
    return tuple(map(units, vars(weights).values()))


def _points(signals: Signals, weights: tuple[int, ...]) -> int:
    """Without a loop: a team may have a thousand agents."""
    match, past, fit, free = signals
    of_match, of_past, of_fit, of_free = weights
    return (
        round(match * UNITS) * of_match
        + round(past * UNITS) * of_past
        + round(fit * UNITS) * of_fit
        + round(free * UNITS) * of_free
    )


def shown(value: float) -> str:
    """With two decimals, halves up, as people round: 0.825 is shown as 0.83."""
    return str(Decimal(str(value)).quantize(Decimal("0.01"), ROUND_HALF_UP))


def explanation(score: Score, weights: Weights) -> str:
    """One sentence with each signal, its weight, and the skills that matched."""
    parts = ", ".join(
        f"{name.replace('_', ' ')} {shown(value)} × {shown(getattr(weights, name))}"
        for name, value in score.candidate.signals._asdict().items()
    )
    skills = ", ".join(score.candidate.matching_skills) or "no skill"
    return f"{score.candidate.name} scores {shown(score.overall)} ({parts}); {skills} matched."


def cost_it_the_place(loser: Score, winner: Score, weights: Weights) -> tuple[str, float] | None:
    """The signal by which the loser lost most, and how much of the score that was; None when it lost by none."""
    behind = {
        name: (units(getattr(winner.candidate.signals, name)) - units(value)) * units(getattr(weights, name)) / UNITS**2
        for name, value in loser.candidate.signals._asdict().items()
    }
    name = max(behind, key=lambda key: behind[key])
    return (name, behind[name]) if behind[name] > 0 else None


def _order(score: Score) -> tuple[float, float, float, str]:
    signals = score.candidate.signals
    return (-score.overall, -signals.skill_match, -signals.load_balance, score.candidate.slug)
