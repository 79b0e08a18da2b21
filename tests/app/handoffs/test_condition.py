"""Conditions are read with positions, printed back to the same tree, and computed without guessing."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.handoffs.condition.check import read
from app.handoffs.condition.evaluation import Verdict, evaluate, every_statement, outcomes, statements
from app.handoffs.condition.parser import MAX_CLAUSES, parse
from app.handoffs.condition.problem import ConditionError
from app.handoffs.condition.tokens import KEYWORDS
from app.handoffs.condition.tree import (
    Boolean,
    Comparison,
    Completion,
    Condition,
    Flag,
    Not,
    Number,
    Plain,
    Text,
    Variable,
    Word,
    all_of,
    any_of,
)
from app.teams.variables import Value, VariableKind

KNOWN = {
    "word_count": VariableKind.NUMBER,
    "min_words": VariableKind.NUMBER,
    "weekend_cover": VariableKind.BOOLEAN,
    "urgent": VariableKind.BOOLEAN,
    "region": VariableKind.TEXT,
}

names = st.from_regex(r"[a-z]{1,4}_[a-z]{1,4}", fullmatch=True).filter(lambda name: not name.endswith("_complete"))
numbers = st.integers(-(10**9), 10**9) | st.floats(-1e6, 1e6).map(lambda value: round(value, 3) + 0.0)
texts = st.text(st.characters(blacklist_categories=("Cs", "Cc")), min_size=1, max_size=8)
variables = st.builds(Variable, names, st.booleans())
operands = st.builds(Number, numbers) | st.builds(Text, texts) | st.builds(Boolean, st.booleans()) | variables
words = st.from_regex(r"[a-z]{2,8}", fullmatch=True).filter(lambda word: word not in {*KEYWORDS, "true", "false"})
plain = st.lists(st.builds(Word, words), min_size=1, max_size=4).map(lambda found: Plain(tuple(found)))
clauses = st.one_of(
    st.builds(Comparison, operands, st.sampled_from(["==", "!=", "<", "<=", ">", ">="]), operands),
    st.builds(lambda name, braced: Flag(Variable(name, braced)), names, st.booleans()),
    st.builds(Completion, names),
    st.builds(Boolean, st.booleans()),
    plain,
)
trees: st.SearchStrategy[Condition] = st.recursive(
    clauses,
    lambda inner: st.one_of(
        st.lists(inner, min_size=2, max_size=3).map(all_of),
        st.lists(inner, min_size=2, max_size=3).map(any_of),
        st.builds(Not, inner),
    ),
    max_leaves=6,
)


@given(trees)
@settings(max_examples=300, deadline=None)
def test_what_is_printed_is_read_back_as_the_same_tree(tree: Condition) -> None:
    assert parse(str(tree)) == tree


@given(st.text(max_size=60) | st.text("ab_ (){}\"'<>=!.,\\0 1andornot", max_size=60))
@settings(max_examples=500, deadline=None)
def test_any_text_is_read_or_refused_at_a_place_inside_it(text: str) -> None:
    try:
        tree = parse(text)
    except ConditionError as error:
        problem = error.problem
        assert 0 <= problem.offset <= len(text)
        assert problem.offset + problem.length <= len(text)
        lines = text[: problem.offset].split("\n")
        assert (problem.line, problem.column) == (len(lines), len(lines[-1]) + 1)
    else:
        assert parse(str(tree)) == tree
        assert read(text, KNOWN)[0] is not None


@pytest.mark.parametrize(
    ("text", "column", "message"),
    [
        ("word_count >= many", 15, "no variable 'many'"),
        ("(draft complete and word_count > 5", 1, "never closed"),
        ("draft complete) and urgent", 15, "no '(' before"),
        ("draft complete and", 19, "expected a clause after 'and'"),
        ("and draft complete", 1, "expected a clause"),
        ("draft complete or () and urgent", 20, "expected a clause"),
        ("", 1, "is empty"),
        ("word_count = 5", 12, "write '=='"),
        ("1 < word_count < 5", 16, "cannot be chained"),
        ("the word_count > 5", 1, "expected one number, text or variable before '>'"),
        ("word_count > 5 words", 14, "expected one number, text or variable after '>'"),
        ("word_count >=", 14, "after '>='"),
        ("word_cuont >= {{ min_words }}", 1, "did you mean 'word_count'?"),
        ("word_count >= {{ min_wrds }}", 15, "did you mean 'min_words'?"),
        ("word_count >= {{ min words }}", 15, "begins a variable"),
        ('word_count == "many', 15, "none closes it"),
        ('word_count == "many"', 15, "cannot be compared"),
        ("region < 'EU'", 7, "only numbers"),
        ("word_count and urgent", 1, "is a number; compare it"),
        ("is_approved", 1, "no variable 'is_approved'"),
        ("draft complete and 5", 20, "says nothing by itself"),
        ("word_count is over five hundred", 1, "computed, not judged"),
        ("draft complete (with notes)", 16, "expected 'and' or 'or'"),
        ("not " * 30 + "urgent", 81, "deeper than 20"),
        ("(" * 1_000, 21, "deeper than 20"),
        (" and ".join(["urgent"] * (MAX_CLAUSES + 1)), 551, f"more than {MAX_CLAUSES} clauses"),
        ("x" * 2_001, 2_001, "at most 2,000 characters"),
        ("draft complete and\nword_count >= many", 15, "no variable 'many'"),
    ],
)
def test_a_problem_has_its_place(text: str, column: int, message: str) -> None:
    _, problems = read(text, KNOWN)

    assert len(problems) == 1
    assert message in problems[0].message
    assert problems[0].column == column
    assert problems[0].line == text[: problems[0].offset].count("\n") + 1


def test_every_variable_that_does_not_fit_is_named() -> None:
    _, problems = read("a_b > 1 and urgent > 2 and c_d", KNOWN)

    assert [problem.offset for problem in problems] == [0, 21, 27]


@pytest.mark.parametrize(
    ("text", "values", "holds"),
    [
        ("word_count >= {{ min_words }}", {"word_count": 800, "min_words": 800}, True),
        ("word_count >= {{ min_words }}", {"word_count": 799, "min_words": 800}, False),
        ("word_count >= {{ min_words }}", {"min_words": 800}, None),
        ("word_count >= 1 or urgent", {"urgent": True}, True),
        ("word_count >= 1 and urgent", {"urgent": False}, False),
        ("not urgent", {"urgent": False}, True),
        ("not (word_count > 5)", {}, None),
        ("region == 'Europe' and not weekend_cover", {"region": "Europe", "weekend_cover": False}, True),
        ("urgent == true", {"urgent": True}, True),
        ("not (word_count < 5 or word_count > 9) and true", {"word_count": 7}, True),
    ],
)
def test_comparisons_are_computed(text: str, values: dict[str, Value], holds: bool | None) -> None:
    tree, problems = read(text, KNOWN)

    assert problems == []
    assert tree is not None
    assert evaluate(tree, values, {}) is holds
    assert statements(tree, values) == []


def test_plain_language_is_asked_for_only_where_it_matters() -> None:
    tree, _ = read("draft complete and word_count >= 5 and the region is {{ region }}", KNOWN)
    assert tree is not None

    assert statements(tree, {"word_count": 4}) == []
    assert statements(tree, {"word_count": 5, "region": "EU"}) == ["draft complete", "the region is EU"]
    verdicts = {"draft complete": Verdict(0.9), "the region is EU": Verdict(0.4, "says nothing of it")}
    assert evaluate(tree, {"word_count": 5, "region": "EU"}, verdicts) is False
    assert [(one.holds, one.confidence) for one in outcomes(tree, {"word_count": 5, "region": "EU"}, verdicts)] == [
        (True, 0.9),
        (True, None),
        (False, 0.4),
    ]


def test_completions_are_remembered_or_said_now() -> None:
    tree, _ = read("research_a complete and research_b is complete and requirements_complete", KNOWN)
    assert tree is not None
    before: dict[str, Value] = {"research_a_complete": True, "requirements_complete": True}

    assert every_statement(tree, before) == ["research B is complete"]
    assert evaluate(tree, before, {"research B is complete": Verdict(0.8)}) is True
    assert evaluate(tree, before, {"research B is complete": Verdict(0.2)}) is False


def test_not_before_plain_words_is_one_of_them() -> None:
    assert str(parse("not approved")) == "not approved"
    assert isinstance(parse("not approved"), Plain)
    assert isinstance(parse("not (approved)"), Not)
    assert isinstance(parse("not weekend_cover"), Not)
