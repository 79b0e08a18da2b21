"""Personality, load and past performance, complexity and tier: each by itself, and together in the gate."""

from __future__ import annotations

import time
from datetime import timedelta
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.embeddings.static import StaticEmbedder
from app.routing.complexity import complexity_of
from app.routing.gate import candidates
from app.routing.load import Load, load_balance
from app.routing.mentions import passed_over
from app.routing.models import MAX_QUERY
from app.routing.performance import Rating, past_performance
from app.routing.personality import manner_of, personality_fit
from app.routing.profile import Traits
from app.routing.select import Policy, select
from app.routing.skill_match import Query
from app.routing.team_index import TeamIndex
from app.routing.tier import TierChoice, choose_tier
from tests.app.routing.conftest import Indexed

DAY = timedelta(days=1)
JOKER, LAWYER, ENGINEER = Traits(0.1, 0.9, 0.2), Traits(0.9, 0.1, 0.4), Traits(0.5, 0.3, 1.0)
MODELS, COSTS = ("small", "middle", "large"), (Decimal("0.001"), Decimal("0.01"), Decimal("0.10"))


def test_past_performance_counts_similar_queries_of_thirty_days() -> None:
    counted = [Rating(1.0, 0.81, DAY), Rating(0.5, 0.95, 30 * DAY)]
    left_out = [Rating(0.0, 0.8, DAY), Rating(0.0, 0.99, 31 * DAY)]

    assert past_performance(counted + left_out) == 0.75
    assert past_performance(left_out) == 0.7
    assert past_performance([]) == 0.7


@given(st.integers(0, 10_000), st.integers(0, 10_000), st.floats(0, 1e6))
def test_more_load_never_raises_the_balance(conversations: int, queue: int, response_s: float) -> None:
    now = load_balance(Load(conversations, queue, response_s))

    assert 0 <= now <= 1
    assert load_balance(Load(conversations + 1, queue, response_s)) < now
    assert load_balance(Load(conversations, queue + 1, response_s)) < now
    assert load_balance(Load(conversations, queue, response_s + 1)) <= now
    assert load_balance(Load()) == 1


@pytest.mark.parametrize(
    ("text", "best"),
    [
        ("lol hey dude, tell me something funny!! :)", JOKER),
        ("Dear colleagues, I would like to ask about the urgent compliance audit, thank you", LAWYER),
        ("Why does `get_user()` throw an exception when the SQL query hits the cache?", ENGINEER),
    ],
)
def test_manner_of_a_query_fits_the_agent_of_the_same_manner(text: str, best: Traits) -> None:
    manner = manner_of(text)
    fits = {traits: personality_fit(manner, traits) for traits in (JOKER, LAWYER, ENGINEER)}

    assert max(fits, key=lambda traits: fits[traits]) == best
    assert all(0 <= fit <= 1 for fit in fits.values())


def test_query_without_hints_fits_the_middle_best() -> None:
    manner = manner_of("Tomatoes and bread")

    assert personality_fit(manner, Traits()) == 1
    assert personality_fit(manner, Traits(1, 1, 1)) == 0.5


def test_complexity_grows_with_what_is_asked() -> None:
    plain = complexity_of("What time is it?")
    middling = complexity_of("Why is this SQL query slow? Compare an index with a cache.")
    hard = complexity_of(
        "First analyse why latency grew, then design a migration plan from the monolith to services: it must run "
        "without downtime, within a budget of 500 USD and at most 200 ms; compare alternatives, evaluate trade-offs, "
        "and finally decide which API schema and database cluster to use."
    )

    assert plain.overall < 1 < middling.overall < hard.overall <= 10
    assert hard.reasoning == 10


@pytest.mark.parametrize("limit", ["5%", "5 % of it", "10 €", "10€, no more", "(20$)", "200 ms", "3 days", "64gb"])
def test_amount_with_its_unit_is_one_constraint(limit: str) -> None:
    assert complexity_of(f"Answer {limit}").constraints == 2.5


@pytest.mark.parametrize("plain", ["5 apples", "10 kittens", "3 sheep", "version 5"])
def test_number_of_things_is_no_constraint(plain: str) -> None:
    assert complexity_of(f"Answer {plain}").constraints == 0


@pytest.mark.parametrize(
    ("complexity", "left", "requested", "expected"),
    [
        (1.0, "1", None, TierChoice(0, "small")),
        (3.0, "1", None, TierChoice(1, "middle")),
        (9.0, "1", None, TierChoice(2, "large")),
        (9.0, "0.05", None, TierChoice(1, "middle", "tier 2 would cost 0.10 USD and 0.05 USD are left")),
        (9.0, "0", None, TierChoice(0, "small", "tier 2 would cost 0.10 USD and 0 USD are left")),
        (1.0, "1", 2, TierChoice(2, "large", "tier 2 was asked for; the complexity 1 suggests tier 0")),
        (9.0, "1", 2, TierChoice(2, "large")),
    ],
)
def test_tier_and_why_it_was_overridden(
    complexity: float, left: str, requested: int | None, expected: TierChoice
) -> None:
    chosen = choose_tier(complexity, models=MODELS, costs_usd=COSTS, left_usd=Decimal(left), requested=requested)

    assert chosen == expected


def test_gate_gives_every_agent_its_four_signals(labelled_index: TeamIndex, embedder: StaticEmbedder) -> None:
    text = "Review my pull request"
    query = Query(text, embedder.embed_now([text])[0])

    found = {
        each.slug: each
        for each in candidates(
            labelled_index, query, ratings={"luke": [Rating(0.9, 1.0, DAY)]}, loads={"luke": Load(queue_depth=5)}
        )
    }

    assert len(found) == len(labelled_index.agents)
    assert found["luke"].signals.past_performance == 0.9
    assert found["luke"].signals.load_balance == 0.825
    assert found["luke"].matching_skills[0] == "Code review"
    assert (found["ada"].signals.past_performance, found["ada"].signals.load_balance) == (0.7, 1.0)


@pytest.mark.parametrize(
    "hostile", ["1", "a", "A", "\n", " ", "haha", "1 ", "a_", "a.", "-", "1.\n", "aA", "<", "@a ", "`", "```a"]
)
def test_no_text_is_read_slowly(hostile: str) -> None:
    text = (hostile * MAX_QUERY)[:MAX_QUERY]

    seconds = []
    for _ in range(3):
        started = time.perf_counter()
        manner_of(text)
        complexity_of(text)
        passed_over(text, {"kyra"})
        seconds.append(time.perf_counter() - started)

    assert min(seconds) < 0.015  # what reads each rest of the text anew takes 40 ms to half a second


def test_ten_agents_are_scored_in_far_less_than_a_tenth_of_a_second(
    indexed: Indexed, labelled_index: TeamIndex, embedder: StaticEmbedder
) -> None:
    ten = indexed(labelled_index.agents[:10])
    text = "Review my pull request, please"
    query = Query(text, embedder.embed_now([text])[0])

    seconds = []
    for _ in range(5):
        started = time.perf_counter()
        chosen = select(candidates(ten, query, ratings={}, loads={}), Policy(), default=None)
        seconds.append(time.perf_counter() - started)

    assert len(chosen.scores) == 10
    assert min(seconds) < 0.05  # the fastest: others may have had the processor meanwhile
