"""Related queries find the right agent, unrelated ones find nobody, and what was rated well is remembered."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace

import pytest

from app.routing.profile import AgentProfile
from app.routing.skill_match import MATCHES
from app.routing.team_index import TeamIndex
from app.routing.words import stems
from tests.app.routing.conftest import Indexed, Match
from tests.fixtures.labelled import Kind, held_out, profiles, returning, team, tuning

# A little under what `make bench` shows for the first half, so that only a real loss fails.
LEAST_ROUTED = {Kind.SHARED: 0.95, Kind.PARAPHRASE: 0.73, Kind.TYPO: 0.88, Kind.TWO_TOPIC: 0.92, Kind.LANGUAGE: 0.76}
LEAST_OFF_TOPIC_BACK = 0.9


def test_quality_on_the_tuning_half_stays_above_its_floor(labelled_index: TeamIndex, match: Match) -> None:
    routed: dict[Kind, list[bool]] = defaultdict(list)
    fell_back = []

    for query in tuning():
        best = max(match(labelled_index, query.text).values(), key=lambda found: found.value)
        if query.kind is Kind.OFF_TOPIC:
            fell_back.append(best.value < MATCHES)
        else:
            routed[query.kind].append(best.slug in query.agents and best.value >= MATCHES)

    shares = {kind: sum(right) / len(right) for kind, right in routed.items()}
    assert {kind: share for kind, share in shares.items() if share < LEAST_ROUTED[kind]} == {}
    assert sum(fell_back) / len(fell_back) >= LEAST_OFF_TOPIC_BACK


def test_labelled_set_is_large_varied_and_split_for_good() -> None:
    first, second = tuning(), held_out()
    slugs = {agent.slug for agent in profiles()}

    assert len(first) + len(second) >= 120
    assert len(slugs) >= 12
    assert len({query.text for query in first + second}) == len(first) + len(second)
    assert {query.kind for query in first} == {query.kind for query in second} == set(Kind)
    assert {slug for query in first + second for slug in query.agents} == slugs


def test_paraphrases_share_no_word_with_the_skills_that_they_are_about() -> None:
    skills = {
        agent["name"].lower(): {
            stem for skill in agent["skills"] for stem in stems(f"{skill['name']} {skill['description']}")
        }
        for agent in team()
    }
    alike_by_chance = {"read", "plan", "new", "look"}  # ready, plane, Hacker News; have a look

    shared = {
        (query.text, stem)
        for query in tuning() + held_out()
        if query.kind is Kind.PARAPHRASE
        for slug in query.agents
        for stem in set(stems(query.text)) & skills[slug] - alike_by_chance
    }

    assert shared == set()


def test_need_that_was_answered_well_is_routed_right_when_it_comes_back(
    indexed: Indexed, labelled_index: TeamIndex, match: Match
) -> None:
    needs = returning()
    rated: dict[str, list[str]] = defaultdict(list)
    for need in needs:
        rated[need.agent].append(need.rated)

    taught = indexed(profiles({slug: tuple(texts) for slug, texts in rated.items()}))

    def routed(index: TeamIndex) -> int:
        return sum(match(index, need.later)[need.agent].value >= MATCHES for need in needs)

    assert routed(taught) >= routed(labelled_index) + len(needs) // 3


def test_matching_skills_are_named_best_first(labelled_index: TeamIndex, match: Match) -> None:
    found = match(labelled_index, "Please review my pull request for bugs")

    assert found["luke"].skills[0] == "Code review"
    assert found["chef"].skills == ()
    assert found["luke"].value > 0.9
    assert found["chef"].value < MATCHES


def test_same_team_in_another_order_matches_to_the_last_digit(indexed: Indexed, match: Match) -> None:
    agents = profiles()

    forwards, backwards = indexed(agents), indexed(agents[::-1])

    for query in tuning()[::8]:
        assert match(forwards, query.text) == match(backwards, query.text)


@pytest.mark.parametrize(
    "text", ["", "   ", "?!", "the of and", "42", "\0", "🙂", "漢字だけ", "a" * 50_000, "word " * 20_000]
)
def test_any_text_gives_numbers_from_0_to_1(labelled_index: TeamIndex, match: Match, text: str) -> None:
    values = [found.value for found in match(labelled_index, text).values()]

    assert len(values) == len(profiles())
    assert all(0 <= value <= 1 for value in values)


def test_text_without_words_matches_nobody(labelled_index: TeamIndex, match: Match) -> None:
    assert {found.value for found in match(labelled_index, "").values()} == {0.0}


def test_empty_team_has_no_matches(indexed: Indexed, match: Match) -> None:
    assert match(indexed([]), "Review my code") == {}


def test_agent_without_skills_is_known_by_its_role(indexed: Indexed, match: Match) -> None:
    nameless = AgentProfile("pat", "Pat", role="Repairs bicycles and motorbikes")
    blank = AgentProfile("quinn", "Quinn")

    found = match(indexed([nameless, blank]), "Who repairs my bicycle?")

    assert found["pat"].value >= MATCHES
    assert found["quinn"].value < MATCHES


def test_single_agent_is_not_matched_by_what_it_cannot_do(indexed: Indexed, match: Match) -> None:
    chef = next(agent for agent in profiles() if agent.slug == "chef")

    index = indexed([replace(chef, slug="only")])

    assert match(index, "A vegan recipe with chickpeas")["only"].value >= MATCHES
    assert match(index, "Why does the deployment pipeline fail?")["only"].value < MATCHES
