"""Which of a schema's fixed values fits what is said. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from app.inference.offline.material import Material, words

# Words that speak for a value, beside the value's own.
_CUES = {
    "critical": "crash injection leak leaked password secret vulnerability plaintext corrupt corruption",
    "major": "bug broken error errors fail fails failed failing missing race deadlock wrong incorrect",
    "high": "crash injection leak password secret vulnerability urgent",
    "minor": "slow unclear duplicate duplicated deprecated todo",
    "low": "typo style naming comment",
    "suggestion": "could might consider prefer naming",
    "security": "injection leak leaked password secret vulnerability unsafe insecure permission plaintext hardcoded",
    "performance": "slow timeout latency memory cache quadratic",
    "style": "naming format formatting style typo readability duplicate duplicated",
    "logic": "wrong incorrect condition never race deadlock inconsistent",
    "bug": "bug crash error errors fail fails failed exception broken missing",
}
_UNFINISHED = ("partial", "incomplete", "unknown", "inconclusive")


def pick(among: Sequence[Any], said: str, material: Material) -> Any:
    """Never a verdict of approval, because nothing was verified; undone work as partial, the rest by the words; else
    the first."""
    if {"approved", "changes_requested"} <= set(map(str, among)):
        return "changes_requested"
    if unfinished := next((value for value in _UNFINISHED if value in among), None):
        return unfinished
    spoken = words(said)
    scores = [sum(spoken.count(cue) for cue in _cues(value)) for value in among]
    return among[scores.index(max(scores))]


def _cues(value: Any) -> set[str]:
    own = words(str(value).replace("_", " "))
    return set(own) | set(_CUES.get(str(value).casefold(), "").split())
