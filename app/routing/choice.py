"""The cascade: who answers a message, by which part of routing, and why. Pure, so that a decision can be replayed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from app.routing.mentions import first_mentioned
from app.routing.router import Reason, route
from app.routing.score import Candidate, Score, ranked
from app.routing.select import Policy, Strategy, nobody_matches, select
from app.routing.skill_match import SkillMatch


class RoutingMode(StrEnum):
    """Which part of the cascade decided."""

    DIRECT = "direct"
    ROUTER = "router"
    GATE = "gate"


@dataclass(frozen=True)
class Choice:
    """`scores` are those of every active agent, best first; none in direct mode."""

    mode: RoutingMode
    reason: Reason
    strategy: Strategy
    selected: tuple[str, ...]
    confidence: float
    fallback_used: bool = False
    warning: str | None = None
    scores: tuple[Score, ...] = ()


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
) -> Choice:
    """Of the active agents. Whom the caller names, or else the first @mention that is one of them, wins in every mode.

    A current or default agent that is not active is given as None.
    """
    addressed = named or first_mentioned(text, {candidate.slug for candidate in candidates})
    if addressed is not None:
        scores = tuple(ranked(candidates, policy.weights))
        return Choice(mode, Reason.USER_MENTION, Strategy.TOP_1, (addressed,), 1.0, scores=scores)
    if mode is RoutingMode.ROUTER:
        return _by_router(text, candidates, policy, current, default)
    return _by_gate(candidates, policy, current, default)


def _by_router(
    text: str, candidates: Sequence[Candidate], policy: Policy, current: str | None, default: str | None
) -> Choice:
    matches = [SkillMatch(each.slug, each.signals.skill_match, each.matching_skills) for each in candidates]
    found = route(text, matches, current=current, default=default)
    made = Choice(
        RoutingMode.ROUTER,
        found.reason,
        Strategy.TOP_1,
        () if found.slug is None else (found.slug,),
        found.confidence,
        scores=tuple(ranked(candidates, policy.weights)),
    )
    if found.reason is Reason.DEFAULT:
        return replace(made, fallback_used=True, warning=nobody_matches(made.scores, default))
    return made


def _by_gate(candidates: Sequence[Candidate], policy: Policy, current: str | None, default: str | None) -> Choice:
    found = select(candidates, policy, default=default)
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
