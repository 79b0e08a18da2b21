"""How much a query asks for: five dimensions and their mean, each 0 to 10, from the text alone."""

from __future__ import annotations

import re
from dataclasses import dataclass

from app.routing.personality import TECHNICAL
from app.routing.words import LONGEST, words

MOST = 10.0
WORDS_OF_TEN = 150
# A line, a number or a word is tried once, from its beginning: else long ones are read anew from each of their places.
STEP = re.compile(
    r"(?m)^[^\S\n]*+(?:[-*•]|\d++[.)])\s|\b(?:then|after that|afterwards|finally|next|first|second|also)\b|[;?]", re.I
)
REASONING = re.compile(
    r"\b(why|compare|versus|trade-?offs?|design|architect\w*|prove|optimi[sz]e|analy[sz]e|evaluate|strategy|plan|decide|"
    r"root cause|alternatives?|pros and cons|implications?|migrat\w+|refactor\w*|what if|should we)\b",
    re.IGNORECASE,
)
CONSTRAINT = re.compile(
    r"\b(must|without|within|at least|at most|no more than|unless|except|only if|as long as|budget|deadline|"
    r"while keeping|backwards?[- ]compatible|in case)\b|[<>]=?|"
    r"(?<!\d)\d++\s?(?:[%€$]|(?:ms|s|gb|mb|k|usd|days?|hours?|weeks?)\b)",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Complexity:
    """Each 0 to 10, kept to two decimals."""

    length: float
    steps: float
    technical_depth: float
    reasoning: float
    constraints: float

    @property
    def overall(self) -> float:
        """The mean of the highest dimension and of all five: one hard side makes a query hard."""
        parts: tuple[float, ...] = tuple(vars(self).values())
        return round((max(parts) + sum(parts) / len(parts)) / 2, 2)


def complexity_of(text: str) -> Complexity:
    looked_at = text[:LONGEST]
    return Complexity(
        length=_scaled(len(words(looked_at)), WORDS_OF_TEN),
        steps=_scaled(len(STEP.findall(looked_at)) - 1, 6),
        technical_depth=_scaled(len(TECHNICAL.findall(looked_at)), 6),
        reasoning=_scaled(len(REASONING.findall(looked_at)), 3),
        constraints=_scaled(len(CONSTRAINT.findall(looked_at)), 4),
    )


def _scaled(found: int, for_ten: int) -> float:
    return round(min(max(found, 0) / for_ten, 1.0) * MOST, 2)
