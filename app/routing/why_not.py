"""Says why an agent was not selected: what decided against it, in words and numbers, and nothing that did not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from app.routing.choice import RoutingMode
from app.routing.explain import Decided
from app.routing.router import Reason
from app.routing.score import Score, Weights, cost_it_the_place, shown, units
from app.routing.skill_match import MATCHES


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
class LeftOutAgents:
    """Agents that were not to be chosen: `removed` from the conversation, or else asking themselves."""

    slugs: frozenset[str] = frozenset()
    removed: bool = False


@dataclass(frozen=True)
class WhyNot:
    selected: bool
    place: int | None
    overall: float | None
    behind: float | None
    costliest: str | None
    gaps: tuple[SignalGap, ...]
    explanation: str


def why_not(
    decided: Decided,
    weights: Weights,
    scores: Sequence[Score],
    *,
    slug: str,
    chosen: Sequence[str],
    name: str,
    status: str,
    left_out: LeftOutAgents | None,
) -> WhyNot:
    """`scores` are those of all candidates, best first, `chosen` the slugs that were selected. An agent that is not
    among the candidates was left out, or not active then, which is the same while `left_out` is not known; `status` is
    what it is now."""
    selected = slug in chosen
    place, score = next(((at, each) for at, each in enumerate(scores, 1) if each.candidate.slug == slug), (None, None))
    if score is None:
        said = f"{name} was selected." if selected else _no_candidate(decided, slug, name, status, left_out)
        return WhyNot(selected, None, None, None, None, (), said)
    winner = next((each for each in scores if chosen and each.candidate.slug == chosen[0]), None)
    gaps = tuple(
        SignalGap(
            signal, value, getattr(winner.candidate.signals, signal) if winner else None, getattr(weights, signal)
        )
        for signal, value in score.candidate.signals._asdict().items()
    )
    behind = None if winner is None else round(winner.overall - score.overall, 8)
    if selected:
        return WhyNot(True, place, score.overall, behind, None, gaps, f"{name} was selected, in place {place}.")
    lost = _Lost(decided, weights, score, winner, f"{name} came in place {place} with {shown(score.overall)}.")
    return WhyNot(False, place, score.overall, behind, lost.costliest(), gaps, lost.told())


def _no_candidate(decided: Decided, slug: str, name: str, status: str, left_out: LeftOutAgents | None) -> str:
    if decided.mode is RoutingMode.DIRECT:
        other = decided.selected[0]
        how = "was named" if decided.reason is Reason.USER_MENTION else "answered as the default agent"
        return f"Collaboration was off: agents were not compared, and {other} {how}."
    if left_out is not None and slug in left_out.slugs:
        because = "it had been removed from the conversation" if left_out.removed else "it is the one that asked"
        return f"{name} was left out: {because}."
    now = "" if status == "active" else f" It is {status} now."
    or_else = ", or it was left out, as one that asks or that was removed from the conversation is"
    unsure = or_else if left_out is None else ""
    return f"{name} was no candidate: it was not active when this was decided{unsure}.{now}"


@dataclass(frozen=True)
class _Lost:
    """An agent that was scored and not selected. `winner` is the one selected first; None when that was not scored."""

    decided: Decided
    weights: Weights
    score: Score
    winner: Score | None
    came: str

    @property
    def match(self) -> float:
        return self.score.candidate.signals.skill_match

    def costliest(self) -> str | None:
        """The signal that cost it the place; None when none did."""
        decided = self.decided
        if decided.reason is Reason.USER_MENTION:
            return None
        if decided.mode is RoutingMode.ROUTER:
            worse = self.winner is not None and self.match < self.winner.candidate.signals.skill_match
            return "skill_match" if self.match < MATCHES or (worse and not decided.kept_current) else None
        if decided.fallback_used:
            return "skill_match" if self._below_floor else self._weakest
        cost = self.winner and cost_it_the_place(self.score, self.winner, self.weights)
        return cost[0] if cost else None

    def told(self) -> str:
        decided = self.decided
        if decided.reason is Reason.USER_MENTION:
            return f"{self.came} The message was addressed to {decided.selected[0]}, which comes before every score."
        if decided.mode is RoutingMode.ROUTER:
            return self._by_router()
        return " ".join(filter(None, (self.came, *self._refused(), self._by_gate())))

    def _by_router(self) -> str:
        name, low = self.score.candidate.name, f"Below {shown(MATCHES)} nobody is taken"
        own = f"{name}'s skill match is {shown(self.match)}"
        if self.decided.fallback_used or self.winner is None:
            return f"{own}. {low}, {self._stand_in()}"
        other, theirs = self.decided.selected[0], self.winner.candidate.signals.skill_match
        if units(self.match) == units(theirs) and not self.decided.kept_current:
            return f"{own}, as is that of {other}: a tie goes to the first slug."
        parts = [f"{own}, that of {other} {shown(theirs)}."]
        if self.decided.kept_current:
            parts.append(f"{other} had the conversation, and the router keeps an agent whose skills match.")
        else:
            parts.append("The router compares nothing else.")
        if self.match < MATCHES:
            parts.append(f"{low}.")
        return " ".join(parts)

    def _by_gate(self) -> str | None:
        if self.decided.fallback_used:
            return f"Nobody passed, {self._stand_in()}"
        taken = len(self.decided.selected)
        enough = f"{self.decided.strategy.name} took the best {taken}." if taken > 1 and not self._refused() else None
        return " ".join(filter(None, (enough, self._compared()))) or None

    def _stand_in(self) -> str:
        [first] = self.decided.selected[:1] or [None]
        if self.decided.default_left_out:
            instead = f"so {first}, which had the conversation, answered:" if first else "and"
            return f"{instead} the default agent was left out."
        return f"so {first} answered as the default agent." if first else "and there was no default agent to step in."

    def _refused(self) -> list[str]:
        found, decided = [], self.decided
        if units(self.score.overall) < units(decided.threshold):
            found.append(f"That is below the threshold of {shown(decided.threshold)}.")
        if self._below_floor:
            floor = shown(decided.skill_floor)
            found.append(f"Its skill match of {shown(self.match)} is below the floor of {floor}.")
        return found

    @property
    def _below_floor(self) -> bool:
        return units(self.match) < units(self.decided.skill_floor)

    @property
    def _weakest(self) -> str:
        """The signal by which it lacks most to a full score."""
        lacks = {
            name: (1 - value) * getattr(self.weights, name)
            for name, value in self.score.candidate.signals._asdict().items()
        }
        return max(lacks, key=lambda name: lacks[name])

    def _compared(self) -> str | None:
        if self.winner is None:
            return None
        other, cost = self.winner.candidate.name, cost_it_the_place(self.score, self.winner, self.weights)
        if cost is None:
            tie = "a tie goes to the better skill match, the freer agent, the first slug"
            return None if self._refused() else f"{other} was ahead by no signal: {tie}."
        signal, lost = cost
        mine, theirs = (getattr(one.candidate.signals, signal) for one in (self.score, self.winner))
        return (
            f"{other} has {shown(self.winner.overall)}; what cost {self.score.candidate.name} most is "
            f"{signal.replace('_', ' ')}: {shown(mine)} against {shown(theirs)}, which is {lost:.4f} of the score."
        )
