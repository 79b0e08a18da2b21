"""What a specialist is told, within its budget and without what does not belong to it; and who is taken for one."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import pytest

from app.consultations.context_builder import MOST, Found, build
from app.consultations.spec import ConsultationSpec, parse
from app.consultations.specialist import MARGIN, Scored, Suggestion, choose_specialist
from app.inference.sizes import tokens_of
from app.redaction import Redaction

WHAT = Redaction.SECRETS_AND_EMAILS


def spec(question: str = "Why does POST /users fail in api/users.py?", **given: Any) -> ConsultationSpec:
    return parse(ConsultationSpec, {"question": question, "given": given}, WHAT)


def package(asked: ConsultationSpec, budget: int = 2_000, **found: Any) -> dict[str, Any]:
    return build(asked, requester="Kyra", found=Found(**found), budget_tokens=budget, what=WHAT)


def test_what_belongs_to_the_question_comes_first() -> None:
    files = [f"docs/page{number}.md" for number in range(20)] + ["api/users.py"]
    told = package(spec(files=files, errors=["disk full", "POST /users: 500"]))

    assert told["files"][0] == "api/users.py"
    assert len(told["files"]) == MOST["files"]
    assert told["left_out"] == {"files": 11}
    assert told["errors"][0] == "POST /users: 500"
    assert told["requesting_agent"] == "Kyra"


def test_the_budget_holds_and_says_what_was_left_out() -> None:
    asked = spec(
        snippets=[{"file": "api/users.py", "code": "x = 1\n" * 1_000}, {"code": "y = 2\n" * 1_000}],
        attempted_approaches=["a" * 2_000],
    )
    told = package(asked, budget=400, decisions=["d" * 4_000], practices=["short"])
    texts = [told["question"], *told["decisions"], *told["best_practices"], *told["attempted_approaches"]]
    texts += [one["file"] + one["code"] for one in told["snippets"]]

    assert sum(map(tokens_of, texts)) <= 410
    assert told["tokens"] <= 400
    assert [one["file"] for one in told["snippets"]] == ["api/users.py"]
    assert told["snippets"][0]["code"].endswith("…")
    assert told["left_out"] == {"snippets": 1, "attempted_approaches": 1, "decisions": 1, "best_practices": 1}


def test_at_most_three_similar_ones_and_no_secret_of_a_memory() -> None:
    told = package(spec(), similar=["one", "two", "three", "four"], decisions=["The key is sk-proj-abcdefghijklmnop1"])

    assert told["similar_consultations"] == ["one", "two", "three"]
    assert told["decisions"] == ["The key is [redacted:key]"]
    assert set(told) == {
        "requesting_agent", "consultation_reason", "question", "current_task", "concern", "project_type", "errors",
        "snippets", "attempted_approaches", "files", "decisions", "similar_consultations", "best_practices",
        "tech_stack", "tokens", "left_out",
    }  # fmt: skip


def test_a_question_beyond_the_budget_is_there_all_the_same() -> None:
    told = package(spec("Why? " * 500), budget=100, practices=["none of it"])

    assert len(told["question"]) > 2_000
    assert (told["best_practices"], told["left_out"]) == ([], {"best_practices": 1})


ADA, EVE, ZOE = (uuid4() for _ in range(3))
BEST = Scored(ADA, "Ada", 0.80, 0.9, ["code"])


@pytest.mark.parametrize(
    ("hint", "taken", "followed", "said"),
    [
        (Scored(EVE, "Eve", 0.80 - MARGIN + 0.001, 0.8, []), EVE, True, "about as good as Ada"),
        (Scored(EVE, "Eve", 0.80 - MARGIN - 0.001, 0.8, []), ADA, False, "has a score of 0.75 only"),
        (Scored(EVE, "Eve", 0.80, 0.1, []), ADA, False, "its skills do not match"),
        (None, ADA, False, "its skills do not match"),
    ],
)
def test_a_suggestion_is_followed_where_it_is_about_as_good(
    hint: Scored | None, taken: Any, followed: bool, said: str
) -> None:
    scored = [BEST, *([hint] if hint else [])]
    found = choose_specialist(scored, chosen=ADA, requester_id=ZOE, suggested=Suggestion(EVE, "Eve"), skill_floor=0.35)

    assert (found.agent_id, found.followed) == (taken, followed)
    assert said in found.because


def test_who_asks_and_who_is_away_is_never_taken() -> None:
    own = Scored(ZOE, "Zoe", 0.99, 0.99, [])
    itself = choose_specialist([own, BEST], chosen=ADA, requester_id=ZOE, suggested=Suggestion(ZOE, "Zoe"))
    away = choose_specialist([BEST], chosen=ADA, requester_id=ZOE, suggested=Suggestion(EVE, "Eve", active=False))
    nobody = choose_specialist([own], chosen=ZOE, requester_id=ZOE)

    assert [one.agent_id for one in (itself, away, nobody)] == [ADA, ADA, None]
    assert (itself.followed, away.followed, nobody.followed) == (False, False, None)
    assert "asks itself" in itself.because
    assert "is not active" in away.because
