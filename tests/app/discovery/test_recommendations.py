"""Who is recommended, and in which order."""

from __future__ import annotations

from app.discovery.recommendations import excerpt, recommended
from app.routing.skill_match import MATCHES, SkillMatch


def test_matches_come_best_first_and_what_does_not_match_is_left_out() -> None:
    matches = [
        SkillMatch("ann", 0.5, ()), SkillMatch("weak", MATCHES - 0.0001, ("cooking",)),
        SkillMatch("bob", 0.9, ("SQL",)), SkillMatch("abe", 0.5, ()), SkillMatch("just", MATCHES, ()),
    ]  # fmt: skip

    assert [match.slug for match in recommended(matches)] == ["bob", "abe", "ann", "just"]
    assert recommended([]) == []


def test_excerpt_has_a_hundred_characters_at_most() -> None:
    assert excerpt("ß" * 101) == "ß" * 100
    assert excerpt("calm") == "calm"
