"""Why an agent was not selected: what decided against it is named, and nothing that did not."""

from __future__ import annotations

from dataclasses import replace

import pytest

from app.routing.choice import RoutingMode
from app.routing.explain import Decided
from app.routing.router import Reason
from app.routing.score import Candidate, Signals, Weights, ranked, shown
from app.routing.select import Strategy
from app.routing.skill_match import MATCHES
from app.routing.stand_in import NO_MATCH
from app.routing.why_not import WhyNot, why_not
from tests.fixtures.decided import BY_SKILL

ROUTED = replace(BY_SKILL, mode=RoutingMode.ROUTER, confidence=0.5)
NAMED = replace(BY_SKILL, reason=Reason.USER_MENTION, selected=("Kyra",), confidence=1.0)
FALLEN = replace(
    BY_SKILL, reason=Reason.DEFAULT, selected=("Kyra",), confidence=0.4, fallback_used=True, warning=NO_MATCH
)
LUKE = Candidate("luke", "Luke", Signals(0.9, 0.8, 0.8, 0.7))  # 0.825
ADA = Candidate("ada", "Ada", Signals(0.5, 0.9, 0.9, 0.9))  # 0.74
KYRA = Candidate("kyra", "Kyra", Signals(0.2, 0.7, 0.6, 0.9))  # 0.51


def asked(decided: Decided, about: Candidate, *team: Candidate, chosen: str = "luke") -> WhyNot:
    scores = ranked({about, *team}, Weights())
    found = decided.selected and (chosen,)
    return why_not(
        decided, Weights(), scores, slug=about.slug, chosen=found, name=about.name, status="active", left_out=None
    )


def test_gate_names_the_signal_that_cost_the_place() -> None:
    found = asked(BY_SKILL, ADA, LUKE, KYRA)

    assert (found.selected, found.place, found.costliest) == (False, 2, "skill_match")
    assert found.explanation == (
        "Ada came in place 2 with 0.74. Luke has 0.83; what cost Ada most is skill match: 0.50 against 0.90, which is "
        "0.1600 of the score."
    )


def test_several_that_were_taken_are_counted() -> None:
    both = replace(BY_SKILL, strategy=Strategy.TOP_K, selected=("Luke", "Zoe"))
    zoe = Candidate("zoe", "Zoe", Signals(0.9, 0.8, 0.8, 0.6))

    assert "TOP_K took the best 2." in asked(both, ADA, LUKE, zoe).explanation
    assert "took" not in asked(both, KYRA, LUKE, zoe).explanation  # it is below the threshold, whatever k is


def test_tie_is_told_as_one() -> None:
    twin = Candidate("luzi", "Luzi", LUKE.signals)

    found = asked(BY_SKILL, twin, LUKE)

    assert (found.place, found.behind, found.costliest) == (2, 0, None)
    assert found.explanation == (
        "Luzi came in place 2 with 0.83. Luke was ahead by no signal: a tie goes to the better skill match, the freer "
        "agent, the first slug."
    )


def test_addressed_message_was_lost_by_no_signal() -> None:
    found = asked(NAMED, LUKE, KYRA, chosen="kyra")

    assert (found.place, found.costliest) == (1, None)
    assert found.explanation == (
        "Luke came in place 1 with 0.83. The message was addressed to Kyra, which comes before every score."
    )


@pytest.mark.parametrize(
    ("signals", "costliest", "said"),
    [
        (
            Signals(0.1, 0.7, 0.8, 1.0),
            "skill_match",
            "Ada came in place 1 with 0.53. That is below the threshold of 0.60. Its skill match of 0.10 is below the "
            "floor of 0.35. Nobody passed, so Kyra answered as the default agent.",
        ),
        (
            Signals(0.9, 0.0, 0.4, 0.9),
            "past_performance",
            "Ada came in place 1 with 0.58. That is below the threshold of 0.60. Nobody passed, so Kyra "
            "answered as the default agent.",
        ),
    ],
)
def test_when_nobody_passed_the_default_agent_did_not_win(signals: Signals, costliest: str, said: str) -> None:
    found = asked(FALLEN, Candidate("ada", "Ada", signals), KYRA, chosen="kyra")

    assert (found.costliest, found.explanation) == (costliest, said)


def test_nobody_at_all_is_told() -> None:
    nobody = replace(FALLEN, selected=())

    found = asked(nobody, KYRA)

    assert found.explanation.endswith("Nobody passed, and there was no default agent to step in.")


def test_router_compares_skills_alone() -> None:
    weak = Candidate("luke", "Luke", Signals(0.6, 0.1, 0.1, 0.1))
    found = asked(ROUTED, ADA, weak)
    tied = asked(ROUTED, Candidate("zoe", "Zoe", weak.signals), weak)

    assert (found.place, found.costliest) == (1, "skill_match")
    assert found.explanation == "Ada's skill match is 0.50, that of Luke 0.60. The router compares nothing else."
    assert (tied.costliest, tied.explanation) == (
        None,
        "Zoe's skill match is 0.60, as is that of Luke: a tie goes to the first slug.",
    )
    assert asked(ROUTED, KYRA, weak).explanation == (
        "Kyra's skill match is 0.20, that of Luke 0.60. The router compares nothing else. "
        f"Below {shown(MATCHES)} nobody is taken."
    )


def test_router_that_kept_the_current_agent_says_so() -> None:
    kept = replace(ROUTED, selected=("Ada",), kept_current=True)

    found = asked(kept, LUKE, ADA, chosen="ada")

    assert found.costliest is None
    assert found.explanation == (
        "Luke's skill match is 0.90, that of Ada 0.50. Ada had the conversation, and the router keeps an agent whose "
        "skills match."
    )


def test_router_that_found_nobody_says_so() -> None:
    found = asked(replace(FALLEN, mode=RoutingMode.ROUTER), ADA._replace(signals=Signals(0.3, 1, 1, 1)), KYRA)

    assert (found.costliest, found.explanation) == (
        "skill_match",
        f"Ada's skill match is 0.30. Below {shown(MATCHES)} nobody is taken, so Kyra answered as the default agent.",
    )


def test_who_was_no_candidate_is_not_called_inactive_for_sure() -> None:
    left_out = why_not(
        BY_SKILL, Weights(), (), slug="ada", chosen=("luke",), name="Ada", status="active", left_out=None
    )
    direct = replace(BY_SKILL, mode=RoutingMode.DIRECT, reason=Reason.DEFAULT, confidence=1.0)
    apart = why_not(direct, Weights(), (), slug="ada", chosen=("luke",), name="Ada", status="paused", left_out=None)

    assert left_out.explanation == (
        "Ada was no candidate: it was not active when this was decided, or it was left out, as one that asks or that "
        "was removed from the conversation is."
    )
    assert apart.explanation == (
        "Collaboration was off: agents were not compared, and Luke answered as the default agent."
    )
