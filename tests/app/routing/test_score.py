"""The score is an exact weighted sum, ranks without chance, and computes the same from what was stored."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from app.errors import InvalidInput
from app.routing.score import Candidate, Score, Signals, Weights, cost_it_the_place, explanation, overall, ranked, shown
from app.routing.select import Policy, Selection, select

NAMES = ("skill_match", "past_performance", "personality_fit", "load_balance")
share = st.floats(0, 1, allow_nan=False)
signals = st.builds(Signals, share, share, share, share)
cuts = st.lists(st.integers(0, 10_000), min_size=3, max_size=3).map(sorted)
weights = cuts.map(
    lambda cut: Weights(*(part / 10_000 for part in (cut[0], cut[1] - cut[0], cut[2] - cut[1], 10_000 - cut[2])))
)
teams = st.lists(signals, min_size=1, max_size=12).map(
    lambda found: [Candidate(f"agent-{place}", f"Agent {place}", each) for place, each in enumerate(found)]
)


@pytest.mark.parametrize(
    ("given_signals", "expected"),
    [((0.2, 0.7, 0.6, 0.9), 0.51), ((0.9, 0.8, 0.8, 0.7), 0.83), ((0.8, 0.9, 0.7, 0.8), 0.81)],
)
def test_worked_examples(given_signals: tuple[float, float, float, float], expected: float) -> None:
    assert shown(overall(Signals(*given_signals), Weights())) == str(expected)


@given(signals, weights)
def test_overall_lies_between_the_lowest_and_the_highest_signal(found: Signals, weighed: Weights) -> None:
    assert min(found) <= overall(found, weighed) <= max(found)


@given(teams, weights, st.sampled_from(NAMES), st.data())
def test_raising_a_signal_never_lowers_the_rank(
    team: list[Candidate], weighed: Weights, name: str, data: st.DataObject
) -> None:
    chosen = data.draw(st.sampled_from(team))
    higher = data.draw(st.floats(getattr(chosen.signals, name), 1))
    raised = chosen._replace(signals=Signals(**{**chosen.signals._asdict(), name: higher}))
    policy = Policy(weights=weighed, threshold=data.draw(share), skill_floor=data.draw(share))

    before = [score.candidate.slug for score in ranked(team, weighed)]
    changed = [raised if candidate is chosen else candidate for candidate in team]
    after = [score.candidate.slug for score in ranked(changed, weighed)]

    assert after.index(chosen.slug) <= before.index(chosen.slug)
    if chosen.slug in select(team, policy, default=None).selected:
        assert chosen.slug in select(changed, policy, default=None).selected


@given(teams, weights, st.randoms(use_true_random=False))
def test_order_of_the_candidates_does_not_matter(
    team: list[Candidate], weighed: Weights, chance: random.Random
) -> None:
    shuffled = chance.sample(team, len(team))

    assert ranked(shuffled, weighed) == ranked(team, weighed)


@given(teams, weights, share)
def test_stored_decision_computes_to_the_same(team: list[Candidate], weighed: Weights, threshold: float) -> None:
    policy = Policy(weights=weighed, threshold=threshold)
    decided = select(team, policy, default="agent-0")

    decision, rules = TypeAdapter(Selection), TypeAdapter(Policy)
    stored = decision.validate_json(decision.dump_json(decided))
    again = select(
        [score.candidate for score in stored.scores], rules.validate_json(rules.dump_json(policy)), default="agent-0"
    )

    assert stored == decided
    assert again == decided


def test_ties_go_to_skill_then_load_then_slug() -> None:
    even = Weights(0.25, 0.25, 0.25, 0.25)
    team = [
        Candidate("d", "D", Signals(0.5, 0.5, 0.5, 0.5)),
        Candidate("c", "C", Signals(0.5, 0.5, 0.5, 0.5)),
        Candidate("b", "B", Signals(0.5, 0.4, 0.5, 0.6)),
        Candidate("e", "E", Signals(0.6, 0.4, 0.5, 0.5)),
    ]

    assert [score.candidate.slug for score in ranked(team, even)] == ["e", "b", "c", "d"]


@pytest.mark.parametrize(
    ("values", "path"),
    [
        ((0.4, 0.25, 0.2, 0.2), "weights"),
        ((0.4, 0.25, 0.2, 0.1499), "weights"),
        ((float("nan"), 0.25, 0.2, 0.15), "weights.skill_match"),
        ((0.4, float("inf"), 0.2, 0.15), "weights.past_performance"),
        ((1.2, -0.2, 0.0, 0.0), "weights.skill_match"),
    ],
)
def test_wrong_weights_are_refused_with_the_reason(values: Any, path: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        Weights(*values)

    assert [problem["path"] for problem in refused.value.problems] == [path]


def test_signal_that_is_no_number_is_refused_and_one_beyond_the_range_is_cut() -> None:
    with pytest.raises(InvalidInput):
        Signals(float("nan"), 0.5, 0.5, 0.5)

    assert Signals(-1, 2, 0.123456, 0.5) == Signals(0, 1, 0.1235, 0.5)


def test_explanation_and_what_cost_the_place() -> None:
    luke = Score(Candidate("luke", "Luke", Signals(0.9, 0.8, 0.8, 0.7), ("Code review",)), 0.825)
    kyra = Score(Candidate("kyra", "Kyra", Signals(0.2, 0.7, 0.6, 0.9)), 0.51)

    assert explanation(luke, Weights()) == (
        "Luke scores 0.83 (skill match 0.90 × 0.40, past performance 0.80 × 0.25, personality fit 0.80 × 0.20, "
        "load balance 0.70 × 0.15); Code review matched."
    )
    assert cost_it_the_place(kyra, luke, Weights()) == ("skill_match", 0.28)
    assert cost_it_the_place(luke, luke, Weights()) is None
