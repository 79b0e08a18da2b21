"""Says in words why a decision came out as it did, from what was stored with it."""

from __future__ import annotations

from dataclasses import dataclass

from app.routing.choice import RoutingMode
from app.routing.router import Reason
from app.routing.score import shown
from app.routing.select import Strategy


@dataclass(frozen=True)
class Decided:
    """The part of a stored decision that words about it need. `selected` are names, best first."""

    mode: RoutingMode
    reason: Reason
    strategy: Strategy
    asked_strategy: Strategy
    selected: tuple[str, ...]
    confidence: float
    threshold: float
    skill_floor: float
    fallback_used: bool
    warning: str | None
    tier: int
    model: str
    tier_override_reason: str | None
    kept_current: bool  # whether the first selected had the conversation already
    left_out: tuple[str, ...] = ()  # names, as far as known
    default_left_out: bool = False


def explain(decided: Decided) -> str:
    """A few sentences: who answers, why, and with which model."""
    return " ".join(filter(None, (_who(decided), _why(decided), _left_out(decided), decided.warning, _model(decided))))


def _who(decided: Decided) -> str:
    if not decided.selected:
        return "Nobody answers."
    return f"{_listed(decided.selected)} {'answers' if len(decided.selected) == 1 else 'answer'}."


def _listed(names: tuple[str, ...]) -> str:
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def _why(decided: Decided) -> str:
    if decided.mode is RoutingMode.DIRECT:
        asked = "was named" if decided.reason is Reason.USER_MENTION else "is the team's default agent"
        return f"Collaboration is off, and {decided.selected[0]} {asked}."
    if decided.reason is Reason.USER_MENTION:
        return f"The message is addressed to {decided.selected[0]}, which comes before every score."
    if decided.fallback_used:
        return ""
    if decided.mode is RoutingMode.ROUTER and decided.kept_current:
        return f"{decided.selected[0]} has the conversation, and its skills match: {shown(decided.confidence)}."
    by = "skill match" if decided.mode is RoutingMode.ROUTER else "score"
    best = f"the best {by}, {shown(decided.confidence)}"
    if decided.mode is RoutingMode.GATE:
        best += f", at or above the threshold of {shown(decided.threshold)}"
    moved = " The conversation moves on from its current agent." if decided.reason is Reason.HANDOFF else ""
    return f"{decided.selected[0]} has {best} ({decided.strategy.name}).{moved}"


def _left_out(decided: Decided) -> str:
    """Nothing where somebody was addressed: then it made no difference."""
    if not decided.left_out or decided.reason is Reason.USER_MENTION:
        return ""
    return f"{_listed(decided.left_out)} {'was' if len(decided.left_out) == 1 else 'were'} left out."


def _model(decided: Decided) -> str:
    if not decided.selected:
        return ""
    why = f": {decided.tier_override_reason}" if decided.tier_override_reason else ""
    return f"Model tier {decided.tier} ({decided.model}){why}."
