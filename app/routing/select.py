"""The ExpertSelector: which of the scored agents answer, under a team's policy. Pure, so that it can be replayed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from app.errors import InvalidInput
from app.routing.score import UNITS, Candidate, Score, Weights, ranked, units
from app.routing.skill_match import MATCHES
from app.routing.stand_in import StandIn

MOST_AGENTS = 20


class Strategy(StrEnum):
    TOP_1 = "top_1"
    TOP_K = "top_k"
    ENSEMBLE = "ensemble"
    CASCADE = "cascade"


@dataclass(frozen=True)
class Policy:
    """How a team chooses. Under `skill_floor` an agent is not chosen, however free, liked and well rated it is."""

    weights: Weights = field(default_factory=Weights)
    threshold: float = 0.6
    skill_floor: float = MATCHES
    strategy: Strategy = Strategy.TOP_1
    k: int = 3
    ensemble_allowed: bool = True

    def __post_init__(self) -> None:
        for name in ("threshold", "skill_floor"):
            value = getattr(self, name)
            if not math.isfinite(value) or not 0 <= value <= 1:
                raise InvalidInput.of(name, "must be a number from 0 to 1")
            object.__setattr__(self, name, units(value) / UNITS)
        if not 1 <= self.k <= MOST_AGENTS:
            raise InvalidInput.of("k", f"must be 1 to {MOST_AGENTS}")


@dataclass(frozen=True)
class Selection:
    """The chosen agents' slugs in order, best first. None at all only when the team has no agent that could answer."""

    strategy: Strategy  # the one that was applied
    selected: tuple[str, ...]
    confidence: float  # overall score of the first chosen; 0 when nobody was scored
    fallback_used: bool
    warning: str | None
    scores: tuple[Score, ...]  # of every candidate, best first


def select(
    candidates: Sequence[Candidate], policy: Policy, *, default: str | None, default_left_out: bool = False
) -> Selection:
    """`candidates` are the active agents; `default` answers when none of them is taken: the team's default agent, None
    when it has none or it is paused; or whoever steps in for one that is left out.

    An empty team and one whose agents are all paused are alike: there is nobody to choose from.
    """
    scores = ranked(candidates, policy.weights)
    strategy, downgraded = _allowed(policy)
    able = [score for score in scores if _is_able(score, policy)]
    if not able:
        return _fall_back(scores, strategy, StandIn(default, default_left_out), downgraded)
    chosen = able[: _how_many(strategy, policy.k)]
    return Selection(
        strategy=strategy,
        selected=tuple(score.candidate.slug for score in chosen),
        confidence=chosen[0].overall,
        fallback_used=False,
        warning=downgraded,
        scores=tuple(scores),
    )


def _is_able(score: Score, policy: Policy) -> bool:
    return score.overall >= policy.threshold and score.candidate.signals.skill_match >= policy.skill_floor


def _allowed(policy: Policy) -> tuple[Strategy, str | None]:
    if policy.ensemble_allowed or policy.strategy in (Strategy.TOP_1, Strategy.CASCADE):
        return policy.strategy, None
    return Strategy.TOP_1, f"ensemble_mode is off: {policy.strategy.name} was downgraded to TOP_1."


def _how_many(strategy: Strategy, k: int) -> int:
    return {Strategy.TOP_1: 1, Strategy.TOP_K: k}.get(strategy, MOST_AGENTS)


def _fall_back(scores: Sequence[Score], strategy: Strategy, stands_in: StandIn, downgraded: str | None) -> Selection:
    confidence = next((score.overall for score in scores if score.candidate.slug == stands_in.slug), 0.0)
    selected = () if stands_in.slug is None else (stands_in.slug,)
    warning = " ".join(filter(None, (downgraded, stands_in.told(anybody=bool(scores)))))
    return Selection(strategy, selected, confidence, True, warning, tuple(scores))
