"""Says in words why a decision came out as it did, from what was stored with it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from app.routing.choice import RoutingMode
from app.routing.router import Reason
from app.routing.score import Score, Weights, cost_it_the_place, shown, units
from app.routing.select import Strategy


@dataclass(frozen=True)
class Decided:
    """The part of a stored decision that its explanation needs. `selected` are names, best first."""

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


@dataclass(frozen=True)
class SignalGap:
    """One signal of an agent beside that of the agent that was chosen first."""

    name: str
    value: float
    chosen: float | None
    weight: float

    @property
    def lost(self) -> float | None:
        """How much of the score it cost; negative: what it won."""
        return None if self.chosen is None else round((self.chosen - self.value) * self.weight, 8)


@dataclass(frozen=True)
class WhyNot:
    selected: bool
    place: int | None
    overall: float | None
    behind: float | None
    costliest: str | None
    gaps: tuple[SignalGap, ...]
    explanation: str


def explain(decided: Decided) -> str:
    """A few sentences: who answers, why, and with which model."""
    return " ".join(filter(None, (_who(decided), _why(decided), decided.warning, _model(decided))))


def why_not(
    decided: Decided,
    weights: Weights,
    scores: Sequence[Score],
    *,
    slug: str,
    chosen: Sequence[str],
    name: str,
    status: str,
) -> WhyNot:
    """`scores` are those of all candidates, best first, `chosen` the slugs that were selected. An agent that is not
    among the candidates was not active then; `status` is what it is now."""
    place, score = next(((at, each) for at, each in enumerate(scores, 1) if each.candidate.slug == slug), (None, None))
    if score is None:
        return WhyNot(slug in chosen, None, None, None, None, (), _no_candidate(decided, name, status, slug in chosen))
    winner = next((each for each in scores if chosen and each.candidate.slug == chosen[0]), None)
    gaps = tuple(
        SignalGap(
            signal, value, getattr(winner.candidate.signals, signal) if winner else None, getattr(weights, signal)
        )
        for signal, value in score.candidate.signals._asdict().items()
    )
    behind = None if winner is None else round(winner.overall - score.overall, 8)
    cost = None if winner is None else cost_it_the_place(score, winner, weights)
    selected = slug in chosen
    text = (
        f"{name} was selected, in place {place}." if selected else _lost(decided, score, winner, weights, name, place)
    )
    return WhyNot(selected, place, score.overall, behind, cost and cost[0], gaps, text)


def _who(decided: Decided) -> str:
    if not decided.selected:
        return "Nobody answers."
    names = " and ".join(filter(None, (", ".join(decided.selected[:-1]), decided.selected[-1])))
    return f"{names} {'answers' if len(decided.selected) == 1 else 'answer'}."


def _why(decided: Decided) -> str:
    if decided.mode is RoutingMode.DIRECT:
        asked = "was named" if decided.reason is Reason.USER_MENTION else "is the team's default agent"
        return f"Collaboration is off, and {decided.selected[0]} {asked}."
    if decided.reason is Reason.USER_MENTION:
        return f"The message is addressed to {decided.selected[0]}, which comes before every score."
    if decided.fallback_used:
        return ""
    by = "skill match" if decided.mode is RoutingMode.ROUTER else "score"
    best = f"the best {by}, {shown(decided.confidence)}"
    if decided.mode is RoutingMode.GATE:
        best += f", at or above the threshold of {shown(decided.threshold)}"
    moved = " The conversation moves on from its current agent." if decided.reason is Reason.HANDOFF else ""
    return f"{decided.selected[0]} has {best} ({decided.strategy.name}).{moved}"


def _model(decided: Decided) -> str:
    why = f": {decided.tier_override_reason}" if decided.tier_override_reason else ""
    return f"Model tier {decided.tier} ({decided.model}){why}."


def _no_candidate(decided: Decided, name: str, status: str, selected: bool) -> str:
    if selected:
        return f"{name} was selected."
    if decided.mode is RoutingMode.DIRECT:
        return f"Collaboration was off: agents were not compared, and {decided.selected[0]} was addressed, not {name}."
    now = "" if status == "active" else f" It is {status} now."
    return f"{name} was no candidate: it was not active when this was decided.{now}"


def _lost(decided: Decided, score: Score, winner: Score | None, weights: Weights, name: str, place: int | None) -> str:
    parts = [f"{name} came in place {place} with {shown(score.overall)}."]
    if decided.reason is Reason.USER_MENTION:
        parts.append(f"The message was addressed to {decided.selected[0]}.")
    elif decided.mode is RoutingMode.GATE:
        parts += _refused(decided, score)
    if winner is not None:
        parts.append(_compared(score, winner, weights))
    return " ".join(parts)


def _refused(decided: Decided, score: Score) -> list[str]:
    found = []
    if units(score.overall) < units(decided.threshold):
        found.append(f"That is below the threshold of {shown(decided.threshold)}.")
    match = score.candidate.signals.skill_match
    if units(match) < units(decided.skill_floor):
        found.append(f"Its skill match of {shown(match)} is below the floor of {shown(decided.skill_floor)}.")
    return found


def _compared(score: Score, winner: Score, weights: Weights) -> str:
    other, cost = winner.candidate.name, cost_it_the_place(score, winner, weights)
    if cost is None:
        return f"{other} was ahead by no signal: a tie goes to the better skill match, the freer agent, the first slug."
    signal, lost = cost
    mine, theirs = getattr(score.candidate.signals, signal), getattr(winner.candidate.signals, signal)
    return (
        f"{other} has {shown(winner.overall)}; what cost {score.candidate.name} most is {signal.replace('_', ' ')}: "
        f"{shown(mine)} against {shown(theirs)}, which is {lost:.4f} of the score."
    )
