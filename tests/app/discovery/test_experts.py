"""Who holds which skills, and the order of those who hold any."""

from __future__ import annotations

from itertools import permutations

import pytest

from app.discovery.experts import MOST_SKILLS, Expert, Holding, holdings, ranked, required_skills
from app.embeddings.static import StaticEmbedder
from app.errors import InvalidInput
from app.routing.profile import AgentProfile, Skill
from app.routing.skill_match import Query
from tests.app.routing.conftest import Indexed


def expert(slug: str, holds: int, *, missing: int = 0, available: bool = True, load: float = 0.0) -> Expert:
    held = tuple(Holding(f"skill {number}", None) for number in range(holds))
    return Expert(slug, held, tuple(f"gap {number}" for number in range(missing)), available, load)


def test_coverage_then_availability_then_load_then_slug_decide() -> None:
    order = [
        expert("busy-but-whole", 3, available=False, load=0.9),
        expert("ann", 2, missing=1),
        expert("bob", 2, missing=1),
        expert("idle-by-a-little", 2, missing=1, load=0.2),
        expert("working", 2, missing=1, load=0.3),
        expert("full", 2, missing=1, available=False),
        expert("zoe", 1, missing=2),
    ]
    nobody = expert("nobody", 0, missing=3)

    assert [one.coverage for one in order] == [1, *[2 / 3] * 5, 1 / 3]
    for shuffled in list(permutations([*order, nobody]))[::97]:
        assert ranked(shuffled) == order


def test_skill_is_held_by_its_name_or_by_its_meaning_and_not_by_a_resemblance(
    indexed: Indexed, embedder: StaticEmbedder
) -> None:
    luke = AgentProfile("luke", "Luke", "Reviews code", (Skill("Code review", "Reviews pull requests for bugs"),))
    ada = AgentProfile("ada", "Ada", "Analyses data", (Skill("SQL", "Writes PostgreSQL queries over large tables"),))
    odd = AgentProfile("odd", "Odd", "", (Skill("Xyzzy"),))
    asked = ["CODE REVIEW", "PostgreSQL", "xyzzy", "plumbing"]
    queries = [Query(text, embedder.embed_now([text])) for text in asked]

    assert holdings(indexed([luke, ada, odd]), queries) == {
        "ada": (Holding("PostgreSQL", "SQL"),),
        "luke": (Holding("CODE REVIEW", "Code review"),),
        "odd": (Holding("xyzzy", "Xyzzy"),),
    }
    assert holdings(indexed([]), queries) == {}


def test_required_skills_are_trimmed_and_counted_once() -> None:
    assert required_skills([" SQL ", "Statistics", "STATISTICS", "sql"]) == ["SQL", "Statistics"]


@pytest.mark.parametrize(
    ("given", "path"),
    [
        ([], "requiredSkills"),
        (["SQL"] * (MOST_SKILLS + 1), "requiredSkills"),
        (["x"] * 1_000, "requiredSkills"),
        (["SQL", " \t "], "requiredSkills.1"),
        (["x" * 121], "requiredSkills.0"),
        (["a\0b"], "requiredSkills.0"),
    ],
)
def test_bad_skills_are_refused_by_their_place(given: list[str], path: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        required_skills(given)

    assert [problem["path"] for problem in refused.value.problems] == [path]
