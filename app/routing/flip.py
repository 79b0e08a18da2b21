"""Why another policy would have chosen another agent first: a bound that is crossed, or a signal that counts anew."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from app.routing.score import UNITS, Signals, Weights, overall, units
from app.routing.select import Policy


class FlipCause(StrEnum):
    WEIGHTS = "weights"
    THRESHOLD = "threshold"
    SKILL_FLOOR = "skill_floor"


@dataclass(frozen=True)
class Why:
    """Where the weights are the cause, `signal` names the one that made the difference and `by` how much it made."""

    cause: FlipCause
    signal: str | None = None
    by: float | None = None


def why_flipped(before: Signals | None, after: Signals | None, old: Policy, new: Policy) -> Why:
    """The signals are those of the first choices; None for a default agent that stepped in, and for nobody."""
    if before is not None and (cause := _kept_out(before, new, old.weights)):
        return _why(cause, {name: -gain for name, gain in _gains(before, old.weights, new.weights).items()})
    if after is not None and (cause := _kept_out(after, old, new.weights)):
        return _why(cause, _gains(after, old.weights, new.weights))
    assert before is not None
    assert after is not None
    lost = _gains(before, old.weights, new.weights)
    won = _gains(after, old.weights, new.weights)
    return _why(FlipCause.WEIGHTS, {name: won[name] - lost[name] for name in won})


def _kept_out(signals: Signals, policy: Policy, other: Weights) -> FlipCause | None:
    """What keeps an agent from being chosen under a policy; WEIGHTS when it would pass under the other ones."""
    if signals.skill_match < policy.skill_floor:
        return FlipCause.SKILL_FLOOR
    if overall(signals, policy.weights) >= policy.threshold:
        return None
    return FlipCause.WEIGHTS if overall(signals, other) >= policy.threshold else FlipCause.THRESHOLD


def _gains(signals: Signals, old: Weights, new: Weights) -> dict[str, int]:
    """By how much each signal's share of the score grows, in hundred-millionths."""
    return {
        name: units(value) * (units(getattr(new, name)) - units(getattr(old, name)))
        for name, value in signals._asdict().items()
    }


def _why(cause: FlipCause, gains: dict[str, int]) -> Why:
    if cause is not FlipCause.WEIGHTS:
        return Why(cause)
    signal = max(gains, key=lambda name: gains[name])
    return Why(cause, signal, gains[signal] / UNITS**2)
