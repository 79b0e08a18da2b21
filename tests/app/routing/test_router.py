"""The AgentRouter's order of reasons, and what counts as a mention."""

from __future__ import annotations

import pytest

from app.routing.mentions import mentions, passed_over, unheard
from app.routing.models import RoutingDecision
from app.routing.router import Reason, Route, route
from app.routing.service import WORDS_ONLY
from app.routing.skill_match import SkillMatch
from app.routing.stand_in import ALL_LEFT_OUT, CURRENT_INSTEAD, NO_DEFAULT, NO_MATCH, NOBODY, NOBODY_INSTEAD

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
    ("text", "expected"),
    [
        ("@nobody and @zoe, what now?", ["nobody", "zoe"]),
        ("@nobody, @luke and @zoe", ["nobody"]),  # the first one that is active is heard, and no further one is asked
        ("@luke, tell @nobody", []),
        ("install @angular/core, call @cache(5) and `@property` or\n```\n@dataclass\n```", []),
        ("@ada/@luke", ["ada"]),
        ("see you @5pm", []),
        ("@angular/core, @angular", ["angular"]),
    ],
)
def test_mentions_that_are_passed_over(text: str, expected: list[str]) -> None:
    assert passed_over(text, {"luke"}) == expected


def test_mention_that_is_passed_over_is_told_with_what_to_do() -> None:
    known = {"zoe": "paused", "max": "archived"}

    assert unheard(["nobody"], known) == "The team has no agent @nobody: mention one by its slug."
    assert unheard(["zoe"], known) == "@zoe is paused: resume it, or mention another agent."
    assert unheard(["max", "nobody"], known) == (
        "@max is archived: mention another agent. The team has no agent @nobody: mention one by its slug."
    )
    assert unheard(["a", "b", "c", "d"], {}).endswith("@b: mention one by its slug. 2 more mentions were passed over.")


def test_all_warnings_at_once_fit_into_a_decision() -> None:
    slugs = [letter * 63 for letter in ("x", "y")]
    downgraded = "ensemble_mode is off: ENSEMBLE was downgraded to TOP_1."
    mentioned = unheard([*slugs, *map(str, range(5_000))], dict.fromkeys(slugs, "paused"))
    longest = max((NOBODY, NO_MATCH, NO_DEFAULT, CURRENT_INSTEAD, NOBODY_INSTEAD, ALL_LEFT_OUT), key=len)

    assert (
        len(" ".join((mentioned, downgraded, longest, WORDS_ONLY))) <= RoutingDecision.__table__.c.warning.type.length
    )


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
