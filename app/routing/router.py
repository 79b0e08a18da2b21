"""The AgentRouter: one agent by a fixed order of reasons. Used while the ExpertGate is off."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from app.routing.mentions import first_mentioned
from app.routing.skill_match import MATCHES, SkillMatch


class Reason(StrEnum):
    USER_MENTION = "user_mention"
    SKILL_MATCH = "skill_match"
    HANDOFF = "handoff"  # the skill of another agent than the current one matches
    DEFAULT = "default"


@dataclass(frozen=True)
class Route:
    """`slug` is None only when the team has no active agent to answer."""

    slug: str | None
    confidence: float
    reason: Reason


def route(text: str, matches: Sequence[SkillMatch], *, current: str | None, default: str | None) -> Route:
    """`matches` are those of the active agents; a current or default agent that is paused is given as None."""
    by_slug = {match.slug: match.value for match in matches}
    mentioned = first_mentioned(text, by_slug)
    if mentioned is not None:
        return Route(mentioned, 1.0, Reason.USER_MENTION)
    if current is not None and by_slug.get(current, 0.0) >= MATCHES:
        return Route(current, by_slug[current], Reason.SKILL_MATCH)
    best = min(matches, key=lambda match: (-match.value, match.slug), default=None)
    if best is not None and best.value >= MATCHES:
        return Route(best.slug, best.value, Reason.SKILL_MATCH if current is None else Reason.HANDOFF)
    return Route(default, by_slug.get(default or "", 0.0), Reason.DEFAULT)
