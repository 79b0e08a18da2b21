"""The judge finds what replies say and deny, and every condition of the teams we were asked for decides as it reads."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.embeddings.static import StaticEmbedder
from app.handoffs.condition.check import read
from app.handoffs.condition.evaluation import evaluate, every_statement
from app.handoffs.judging.claims import LONGEST, MOST_CLAIMS, claims
from app.handoffs.judging.embedding import EmbeddingJudge
from app.handoffs.variables import known, reported
from app.teams.variables import Value
from tests.fixtures.growth import growth

HERE = Path(__file__).parent
CONTEXT: dict[str, Value] = {
    "min_sources": 5, "threshold": 0.8, "max_iterations": 3, "min_words": 800, "min_quality": 0.9, "max_revisions": 2,
}  # fmt: skip
RUNTIME = dict.fromkeys(("source_count", "confidence_score", "word_count", "quality_score"), "number")
KNOWN = known(context=CONTEXT, runtime=RUNTIME, input={}, slugs=("writer-a", "writer-b"))


@pytest.fixture
def judge() -> EmbeddingJudge:
    return EmbeddingJudge(StaticEmbedder())


def labelled(file: str) -> Iterator[tuple[str, str, bool]]:
    clause = ""
    for line in (HERE / file).read_text().splitlines():
        if line[:2] in ("+ ", "- "):
            yield clause, line[2:], line[0] == "+"
        elif line and line[0] != "#":
            clause = line


@pytest.mark.parametrize(("file", "least"), [("replies.txt", 1.0), ("unseen_replies.txt", 0.94)])
async def test_replies_are_judged_as_people_labelled_them(judge: EmbeddingJudge, file: str, least: float) -> None:
    cases = list(labelled(file))
    found = [(await judge.judge(reply, [clause]))[clause].holds == right for clause, reply, right in cases]

    assert sum(found) / len(found) >= least


@pytest.mark.parametrize(
    ("condition", "values", "yes", "no"),
    [
        ("draft is complete and ready for review", {}, "The draft is complete and ready for review.",
         "The draft is complete but not ready for review."),
        ("feedback has been provided and revisions are needed", {},
         "I have provided feedback; revisions are needed in part two.", "I gave feedback. No revisions are needed."),
        ("content is approved for publication", {}, "This content is approved for publication.",
         "I do not approve this content for publication."),
        ("research is complete", {}, "My research is complete.", "My research is not complete."),
        ("draft is finished", {}, "The draft is finished.", "The draft is unfinished."),
        ("review is done", {}, "The review is done.", "The review is not done yet."),
        ("content meets quality standards", {}, "The content meets our quality standards.",
         "The content does not meet our quality standards."),
        ("all requirements are satisfied", {}, "All requirements are satisfied.",
         "Not all requirements are satisfied."),
        ("no errors found", {}, "I found no errors.", "I found two errors."),
        ("research batch complete and source_count >= {{ min_sources }}", {"source_count": 5},
         "The research batch is complete.", "The research batch is not complete."),
        ("research complete and source_count >= {{ min_sources }}", {"source_count": 7},
         "The research is complete.", "The research is incomplete."),
        ("confidence_score > {{ threshold }} and ready for review", {"confidence_score": 0.9},
         "It is ready for review.", "It is not ready for review."),
        ("iteration_count < {{ max_iterations }} and needs revision", {"iteration_count": 2},
         "The ending needs revision.", "It needs no revision."),
        ("draft complete and word_count >= {{ min_words }} and all sections included", {"word_count": 900},
         "Draft complete. All sections are included.", "Draft complete. Two sections are missing."),
        ("research phase needed", {}, "A research phase is needed.", "No research phase is needed."),
        ("raw data collected and needs analysis", {}, "The raw data is collected and needs analysis.",
         "The raw data is not collected."),
        ("analysis complete and insights ready", {}, "Analysis complete, the insights are ready.",
         "The analysis is not complete."),
        ("draft complete", {}, "The draft is complete.", "The draft is incomplete."),
        ("revisions needed", {}, "Revisions are needed.", "No revision needed."),
        ("content approved", {}, "The content is approved.", "The content is not approved."),
        ("analysis shows simple topic", {}, "The analysis shows a simple topic.",
         "The analysis shows a complex topic."),
        ("analysis shows complex topic requiring expertise", {},
         "The analysis shows a complex topic requiring expertise.", "The analysis shows a simple topic."),
        ("insufficient data for analysis", {}, "There is insufficient data for analysis.",
         "There is sufficient data for analysis."),
        ("draft complete and word_count >= {{ min_words }}", {"word_count": 800}, "The draft is complete.",
         "I am writing the draft."),
        ("writing needed and writer_a_load < writer_b_load", {"writer_a_load": 1, "writer_b_load": 2},
         "Writing is needed.", "No writing is needed."),
        ("writing needed and writer_b_load <= writer_a_load", {"writer_a_load": 2, "writer_b_load": 2},
         "Writing is needed.", "No writing is needed."),
        ("topic requires technical expertise", {}, "The topic requires technical expertise.",
         "The topic requires a creative approach."),
        ("topic requires creative approach", {}, "The topic requires a creative approach.",
         "The topic requires technical expertise."),
        ("research_a complete and research_b complete", {"research_a_complete": True}, "Research B is complete.",
         "Research B is not complete."),
        ("research_b complete and research_a complete", {"research_b_complete": True}, "research_a complete",
         "Research C is complete."),
        ("requirements complete", {}, "The requirements are complete.", "The requirements are incomplete."),
        ("architecture approved and requirements_complete", {"requirements_complete": True},
         "The architecture is approved.", "The architecture is rejected."),
        ("error detected or quality issues found", {}, "I found quality issues.", "No error was detected."),
        ("error resolved and retry possible", {}, "The error is resolved, a retry is possible.",
         "The error is resolved, but a retry is not possible."),
        ("error requires human intervention", {}, "This error requires human intervention.",
         "The error was resolved without human intervention."),
        ("quality issues found", {}, "Quality issues were found.", "No quality issues were found."),
        ("quality standards met", {}, "The quality standards are met.", "The quality standards are not met."),
    ],
)  # fmt: skip
async def test_conditions_decide_as_they_read(
    judge: EmbeddingJudge, condition: str, values: dict[str, Value], yes: str, no: str
) -> None:
    tree, problems = read(condition, KNOWN)
    assert tree is not None
    assert problems == []
    current = {**CONTEXT, **values}

    for reply, expected in ((yes, True), (no, False)):
        verdicts = await judge.judge(reply, every_statement(tree, current))
        assert evaluate(tree, current, verdicts) is expected, verdicts
    if values:  # what else has to be so is not: the words alone do not do
        verdicts = await judge.judge(yes, every_statement(tree, CONTEXT))
        assert evaluate(tree, CONTEXT, verdicts) is not True


@pytest.mark.parametrize(
    ("condition", "yes", "no"),
    [
        ("quality_score < {{ min_quality }} and revision_count < {{ max_revisions }}", (0.8, 1), (0.8, 2)),
        ("quality_score >= {{ min_quality }}", (0.9, 0), (0.89, 0)),
    ],
)
def test_conditions_of_figures_alone_ask_no_judge(
    condition: str, yes: tuple[float, int], no: tuple[float, int]
) -> None:
    tree, problems = read(condition, KNOWN)
    assert tree is not None
    assert problems == []

    for (score, revisions), expected in ((yes, True), (no, False)):
        values: dict[str, Value] = {**CONTEXT, "quality_score": score, "revision_count": revisions}
        assert every_statement(tree, values) == []
        assert evaluate(tree, values, {}) is expected


async def test_what_is_quoted_is_not_claimed(judge: EmbeddingJudge) -> None:
    for reply in (
        "> The draft is complete.\n\nThat is what you wrote.",
        "You wrote “the draft is complete” yesterday.",
    ):
        assert not (await judge.judge(reply, ["the draft is complete"]))["the draft is complete"].holds


async def test_hostile_replies_are_judged_in_bounds(judge: EmbeddingJudge) -> None:
    for reply in ("", "\0" * 10, "no " * 50_000, "…" * 9_000, "not, " * 5_000, "draft complete " * 20_000):
        verdict = (await judge.judge(reply, ["draft complete"]))["draft complete"]
        assert 0 <= verdict.confidence <= 1


@pytest.mark.parametrize("piece", [" ", "\t", "\n", "«a ", '"a ', "> ", " \n", "“a b "])
def test_reading_claims_takes_time_by_the_length(piece: str) -> None:
    assert growth(claims, lambda size: "x" + piece * (size // len(piece)) + "x", LONGEST // 16) < 6


@pytest.mark.parametrize("piece", [".", " ", "` ", "`.", ". x", "a: "])
def test_reading_variables_takes_time_by_the_length(piece: str) -> None:
    def read_all(text: str) -> object:
        return reported(text, {"a": "text"})

    assert growth(read_all, lambda size: "a: " + piece * (size // len(piece)) + "x", 120) < 6


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ("a: x y.", "x y"),
        ("> - `a` = `x.`;", "x."),
        ("a:x , .\t;", "x"),
        ("a: `x` y", None),
        ("a: ", None),
        ("a: ...", None),
        ("b: x", None),
        ("a: " + "x" * 2_000, "x" * 2_000),
        ("a: " + "x" * 2_001, None),
    ],
)
def test_a_line_sets_a_variable(line: str, value: str | None) -> None:
    assert reported(f"Well.\n{line}\nBye.", {"a": "text"}).get("a") == value


async def test_judging_by_many_rules_lets_others_go_on(judge: EmbeddingJudge) -> None:
    await judge.judge("Warm.", ["warm"])
    reply = ". ".join(f"Point {number} stands" for number in range(MOST_CLAIMS))
    many = [f"point {number}x stands" for number in range(300)]
    turns = 0

    async def others() -> None:
        nonlocal turns
        while True:
            await asyncio.sleep(0.001)
            turns += 1

    waiting = asyncio.create_task(others())
    found = await judge.judge(reply, [*many, "point 7 stands", "point 8 does not stand"])
    waiting.cancel()

    assert turns > 3
    assert found["point 7 stands"].holds
    assert not found["point 8 does not stand"].holds
