"""The cascade: who answers a message, by which part of routing, and why. Pure, so that a decision can be replayed."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from app.routing.mentions import first_mentioned
from app.routing.router import Reason, route
from app.routing.score import Candidate, Score, ranked
from app.routing.select import Policy, Strategy, select
from app.routing.skill_match import SkillMatch
from app.routing.stand_in import StandIn, stand_in


class RoutingMode(StrEnum):
    """Which part of the cascade decided."""

    DIRECT = "direct"
    ROUTER = "router"
    GATE = "gate"


@dataclass(frozen=True)
class Choice:
    """`scores` are those of every active agent but the ones left out, best first; none in direct mode."""

    mode: RoutingMode
    reason: Reason
    strategy: Strategy
    selected: tuple[str, ...]
    confidence: float
    fallback_used: bool = False
    warning: str | None = None
    scores: tuple[Score, ...] = ()
    left_out: tuple[str, ...] = ()


def direct(named: str | None, default: str) -> Choice:
    """Collaboration is off: the named agent, or the default one, without a look at the message."""
    reason = Reason.DEFAULT if named is None else Reason.USER_MENTION
    return Choice(RoutingMode.DIRECT, reason, Strategy.TOP_1, (named or default,), 1.0)


def choose(
    mode: RoutingMode,
    text: str,
    candidates: Sequence[Candidate],
    policy: Policy,
    *,
    named: str | None = None,
    current: str | None = None,
    default: str | None = None,
    left_out: Collection[str] = (),
) -> Choice:
    """Of the active agents but those in `left_out`, who are not chosen as the default agent either. Whom the caller
    names, or else the first @mention that is one of the candidates, wins in every mode.

    A current or default agent that is not active is given as None.
    """
    made = _choose(mode, text, candidates, policy, named, current, default, left_out)
    return replace(made, left_out=tuple(sorted(left_out)))


def _choose(
    mode: RoutingMode,
    text: str,
    candidates: Sequence[Candidate],
    policy: Policy,
    named: str | None,
    current: str | None,
    default: str | None,
    left_out: Collection[str],
) -> Choice:
    addressed = named or first_mentioned(text, {candidate.slug for candidate in candidates})
    if addressed is not None:
        scores = tuple(ranked(candidates, policy.weights))
        return Choice(mode, Reason.USER_MENTION, Strategy.TOP_1, (addressed,), 1.0, scores=scores)
    able = {candidate.slug for candidate in candidates}
    stands_in = stand_in(default, current=current, candidates=able, left_out=left_out)
    if mode is RoutingMode.ROUTER:
        return _by_router(text, candidates, policy, current, stands_in)
    return _by_gate(candidates, policy, current, stands_in)


def _by_router(
    text: str, candidates: Sequence[Candidate], policy: Policy, current: str | None, stands_in: StandIn
) -> Choice:
    matches = [SkillMatch(each.slug, each.signals.skill_match, each.matching_skills) for each in candidates]
    found = route(text, matches, current=current, default=stands_in.slug)
    made = Choice(
        RoutingMode.ROUTER,
        found.reason,
        Strategy.TOP_1,
        () if found.slug is None else (found.slug,),
        found.confidence,
        scores=tuple(ranked(candidates, policy.weights)),
    )
    if found.reason is Reason.DEFAULT:
        return replace(made, fallback_used=True, warning=stands_in.told(anybody=bool(candidates)))
    return made


def _by_gate(candidates: Sequence[Candidate], policy: Policy, current: str | None, stands_in: StandIn) -> Choice:
    found = select(candidates, policy, default=stands_in.slug, default_left_out=stands_in.default_left_out)
    moved = current is not None and current not in found.selected
    reason = Reason.DEFAULT if found.fallback_used else Reason.HANDOFF if moved else Reason.SKILL_MATCH
    return Choice(
        RoutingMode.GATE,
        reason,
        found.strategy,
        found.selected,
        found.confidence,
        found.fallback_used,
        found.warning,
        found.scores,
    )
