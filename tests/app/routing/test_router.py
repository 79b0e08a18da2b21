"""The AgentRouter's order of reasons, and what counts as a mention."""

from __future__ import annotations

import pytest

from app.routing.mentions import mentions
from app.routing.router import Reason, Route, route
from app.routing.skill_match import SkillMatch

MATCHED = [SkillMatch("ada", 0.5, ()), SkillMatch("kyra", 0.1, ()), SkillMatch("luke", 0.9, ())]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("@kyra help me", ["kyra"]),
        ("please ask @Kyra, now", ["kyra"]),
        ("(@KYRA!) and @luke.", ["kyra", "luke"]),
        ("@kyra @kyra", ["kyra"]),
        ("@code_reviewer look", ["code-reviewer"]),
        ("thanks @kyra.", ["kyra"]),
        ("write to me@kyra.org or a.b+c@luke.com", []),
        ("@kyra@example.org is a handle elsewhere", []),
        ("50 @ 3 euros, @, @@luke", []),
        ("see https://example.org/@kyra/posts and HTTP://x.io/@luke, @ada", ["ada"]),
        ("(https://example.org/@kyra) @ada/@luke", ["ada", "luke"]),
    ],
)
def test_mentions(text: str, expected: list[str]) -> None:
    assert mentions(text) == expected


@pytest.mark.parametrize(
    ("text", "current", "default", "expected"),
    [
        ("hey @kyra, review this", "luke", "kyra", Route("kyra", 1.0, Reason.USER_MENTION)),
        ("@nobody or @ada?", None, "kyra", Route("ada", 1.0, Reason.USER_MENTION)),
        ("review this", "ada", "kyra", Route("ada", 0.5, Reason.SKILL_MATCH)),
        ("review this", "kyra", "kyra", Route("luke", 0.9, Reason.HANDOFF)),
        ("review this", None, "kyra", Route("luke", 0.9, Reason.SKILL_MATCH)),
    ],
)
def test_order_of_reasons(text: str, current: str | None, default: str | None, expected: Route) -> None:
    assert route(text, MATCHED, current=current, default=default) == expected


def test_no_match_means_the_default_agent_and_no_agent_means_nobody() -> None:
    weak = [SkillMatch("ada", 0.2, ()), SkillMatch("kyra", 0.1, ())]

    assert route("hello", weak, current="ada", default="kyra") == Route("kyra", 0.1, Reason.DEFAULT)
    assert route("@kyra hello", [], current=None, default=None) == Route(None, 0.0, Reason.DEFAULT)


def test_equal_matches_go_to_the_first_slug() -> None:
    even = [SkillMatch("luke", 0.9, ()), SkillMatch("ada", 0.9, ())]

    assert route("review this", even, current=None, default=None).slug == "ada"
