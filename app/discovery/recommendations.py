"""Who could answer a query. Pure: those whose skills it is about, best first."""

from __future__ import annotations

from collections.abc import Iterable

from app.routing.skill_match import MATCHES, SkillMatch

EXCERPT = 100  # characters of a personality


def recommended(matches: Iterable[SkillMatch]) -> list[SkillMatch]:
    """Nobody when the query is about nothing that the team can do."""
    able = [match for match in matches if match.value >= MATCHES]
    return sorted(able, key=lambda match: (-match.value, match.slug))


def excerpt(personality: str) -> str:
    return personality[:EXCERPT]
