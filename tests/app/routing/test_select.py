"""Every strategy, the fall-back, and teams in which there is nobody to choose."""

from __future__ import annotations

from typing import Any

import pytest

from app.errors import InvalidInput
from app.routing.score import Candidate, Signals
from app.routing.select import Policy, Strategy, select
from app.routing.stand_in import NO_MATCH

TEAM = [
    Candidate("zara", "Zara", Signals(1.0, 0.9, 0.9, 0.8)),  # 0.925
    Candidate("luke", "Luke", Signals(0.9, 0.8, 0.8, 0.7)),  # 0.825
    Candidate("ada", "Ada", Signals(0.8, 0.9, 0.7, 0.8)),  # 0.805
    Candidate("max", "Max", Signals(0.5, 0.7, 0.7, 0.8)),  # 0.635
    Candidate("kyra", "Kyra", Signals(0.2, 0.7, 0.6, 0.9)),  # 0.51
]


@pytest.mark.parametrize(
    ("strategy", "threshold", "expected"),
    [
        (Strategy.TOP_1, 0.6, ("zara",)),
        (Strategy.TOP_K, 0.6, ("zara", "luke", "ada")),
        (Strategy.TOP_K, 0.82, ("zara", "luke")),
        (Strategy.ENSEMBLE, 0.7, ("zara", "luke", "ada")),
        (Strategy.ENSEMBLE, 0.635, ("zara", "luke", "ada", "max")),
        (Strategy.CASCADE, 0.6, ("zara", "luke", "ada", "max")),
    ],
)
def test_strategies(strategy: Strategy, threshold: float, expected: tuple[str, ...]) -> None:
    chosen = select(TEAM, Policy(strategy=strategy, threshold=threshold), default="kyra")

    assert chosen.selected == expected
    assert chosen.confidence == 0.925
    assert (chosen.fallback_used, chosen.warning, chosen.strategy) == (False, None, strategy)
    assert [score.candidate.slug for score in chosen.scores] == ["zara", "luke", "ada", "max", "kyra"]


@pytest.mark.parametrize("strategy", list(Strategy))
def test_nobody_above_the_threshold_means_the_default_agent_and_a_warning(strategy: Strategy) -> None:
    chosen = select(TEAM, Policy(strategy=strategy, threshold=0.95), default="kyra")

    assert chosen.selected == ("kyra",)
    assert chosen.confidence == 0.51
    assert chosen.fallback_used
    assert chosen.warning is not None


def test_free_liked_and_well_rated_agent_without_the_skill_is_not_chosen() -> None:
    idle = Candidate("idle", "Idle", Signals(0.0, 1.0, 1.0, 1.0))

    chosen = select([idle], Policy(), default="kyra")

    assert chosen.scores[0].overall == 0.6
    assert chosen.selected == ("kyra",)


@pytest.mark.parametrize("asked", [Strategy.TOP_K, Strategy.ENSEMBLE])
def test_ensemble_mode_off_downgrades_and_says_so(asked: Strategy) -> None:
    chosen = select(TEAM, Policy(strategy=asked, ensemble_allowed=False), default="kyra")

    assert (chosen.strategy, chosen.selected) == (Strategy.TOP_1, ("zara",))
    assert chosen.warning == f"ensemble_mode is off: {asked.name} was downgraded to TOP_1."


def test_downgrade_is_told_also_when_nobody_matches() -> None:
    policy = Policy(strategy=Strategy.ENSEMBLE, threshold=0.95, ensemble_allowed=False)

    chosen = select(TEAM, policy, default="kyra")

    assert (chosen.strategy, chosen.selected) == (Strategy.TOP_1, ("kyra",))
    assert chosen.warning == f"ensemble_mode is off: ENSEMBLE was downgraded to TOP_1. {NO_MATCH}"


def test_nobody_matches_and_there_is_no_default_agent() -> None:
    chosen = select(TEAM, Policy(threshold=0.95), default=None)

    assert (chosen.selected, chosen.confidence, chosen.fallback_used) == ((), 0.0, True)
    assert chosen.warning == ("No agent matches this well enough, and the team has no active default agent.")


def test_empty_team_and_team_of_paused_agents_select_nobody() -> None:
    chosen = select([], Policy(), default=None)

    assert (chosen.selected, chosen.confidence, chosen.fallback_used) == ((), 0.0, True)
    assert chosen.warning == "No agent is active that could answer."


def test_single_agent_is_chosen_by_its_score_and_else_as_the_default() -> None:
    fit, unfit = TEAM[0], Candidate("zara", "Zara", Signals(0.1, 0.7, 0.7, 1.0))

    assert not select([fit], Policy(), default="zara").fallback_used
    fallen = select([unfit], Policy(), default="zara")
    assert (fallen.selected, fallen.fallback_used) == (("zara",), True)


@pytest.mark.parametrize(
    "wrong", [{"k": 0}, {"k": 21}, {"threshold": 1.1}, {"threshold": float("nan")}, {"skill_floor": -0.1}]
)
def test_wrong_policy_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        Policy(**wrong)
