"""Each limit lets through what is at it and refuses what is one over, fragments expanded, with the numbers said."""

from __future__ import annotations

from typing import Any

import pytest
from graphql import FieldNode, FragmentDefinitionNode, FragmentSpreadNode, OperationDefinitionNode, parse
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from app.config import Settings
from graphql_schema.transport.limits import count_values, document_problems, lexical_problem

DEFAULTS = Settings()
DOUBLE = "fragment A on Q { ...B ...B } fragment B on Q { x: f @d ...C ...C } fragment C on Q { f }"


def problems(text: str, **limits: int) -> list[tuple[str, int, int]]:
    settings = DEFAULTS.model_copy(update={f"max_{name}": value for name, value in limits.items()})
    found = document_problems(parse(text), settings)
    return [
        (error.extensions["limit"], error.extensions["value"], error.extensions["maximum"])
        for error in found
        if error.extensions
    ]


@pytest.mark.parametrize(
    ("text", "limit", "setting", "value"),
    [
        ("{ a { b { c } } }", "depth", "depth", 3),
        ("{ a { ... on B { ... { b } } } }", "depth", "depth", 2),
        ("{ a { ...A } } fragment A on Q { b { ...B } } fragment B on Q { c { d } }", "depth", "depth", 4),
        ("{ x: a y: b { z: c } }", "aliases", "aliases", 3),
        ("{ ...A } " + DOUBLE, "aliases", "aliases", 2),
        ("query Q($v: Int @d) @d { a @d(x: 1) @e ... @d { b } }", "directives", "directives", 5),
        ("{ ...A @d } " + DOUBLE, "directives", "directives", 3),
        ("{ a b ... { c } ...A } fragment A on Q { d { e } f }", "rootFields", "root_fields", 5),
        ("{ ...A } " + DOUBLE, "fields", "fields", 6),
        ("{ a { b } } query Two { a b c d }", "fields", "fields", 4),
    ],
)
def test_value_at_the_limit_passes_and_one_over_is_refused(text: str, limit: str, setting: str, value: int) -> None:
    assert problems(text, **{setting: value}) == []
    assert (limit, value, value - 1) in problems(text, **{setting: value - 1})


def test_refusal_says_limit_value_and_maximum() -> None:
    (error,) = document_problems(parse("{ a { b { c } } }"), Settings(max_depth=2))

    assert error.message == "This request has 3 levels of nested fields; at most 2 are allowed."
    assert error.extensions == {
        "code": "LIMIT_EXCEEDED",
        "limit": "depth",
        "value": 3,
        "maximum": 2,
        "setting": "PARLEY_MAX_DEPTH",
    }


def test_introspection_does_not_count_as_depth() -> None:
    text = "{ a { b } __schema { types { ...T } } } fragment T on __Type { ofType { ofType { ofType { name } } } }"

    assert problems(text, depth=2) == []


def test_a_cycle_of_fragments_ends() -> None:
    assert problems("{ ...A } fragment A on Q { f ...B } fragment B on Q { g { ...A } }") == []


def test_a_chain_of_fragments_as_long_as_the_tokens_allow_ends() -> None:
    chain = "".join(f"fragment F{i} on Q {{ ...F{i + 1} }} " for i in range(700))

    assert problems("{ ...F0 } " + chain + "fragment F700 on Q { f }") == []


def nested(depth: int) -> dict[str, Any]:
    value: Any = 1
    for level in range(depth):
        value = [value] if level % 2 else {"v": value}
    return {"v": value}


def test_variables_may_nest_to_their_limit_and_no_deeper() -> None:
    assert count_values({"a": 1, "b": "x", "c": None}, 1) == 3
    assert isinstance(count_values(nested(24), 24), int)
    assert count_values({"a": 1, **nested(25)}, 24).extensions == {  # type: ignore[union-attr]
        "code": "LIMIT_EXCEEDED",
        "limit": "variablesDepth",
        "value": 25,
        "maximum": 24,
        "setting": "PARLEY_MAX_VARIABLES_DEPTH",
    }


@pytest.mark.parametrize("value", [[1] * 10_000, [[]] * 10_000, {str(i): i for i in range(10_000)}, [[1] * 101] * 100])
def test_variables_hold_only_so_many_values(value: Any) -> None:
    few = {"a": value[:9_000] if isinstance(value, list) and len(value) > 9_000 else 1}
    assert isinstance(count_values(few, 24), int)
    assert count_values({"a": value}, 24).extensions["limit"] == "variableValues"  # type: ignore[union-attr, index]


def test_variables_deeper_than_the_stack_are_measured() -> None:
    assert not isinstance(count_values(nested(50_000), 24), int)


def test_lexical_limits_need_no_valid_document() -> None:
    settings = Settings(max_query_chars=40, max_tokens=10, max_fields=5)

    assert lexical_problem("}" * 41, settings).extensions["limit"] == "queryChars"  # type: ignore[union-attr, index]
    assert lexical_problem("}" * 11, settings).extensions["limit"] == "tokens"  # type: ignore[union-attr, index]
    assert lexical_problem("{a b c d e f}", settings).extensions["limit"] == "fields"  # type: ignore[union-attr, index]
    assert lexical_problem("{a b c d e}", settings) is None


Counts = tuple[int, int, int, int]
bodies = st.lists(
    st.sampled_from(["f", "x: f", "g { f y: f }", "h @d { ...{next} }", "...{next}", "... @d { ...{other} f }"]),
    min_size=1,
    max_size=4,
)


@hypothesis_settings(max_examples=60, deadline=None)
@given(st.lists(bodies, min_size=1, max_size=5))
def test_weights_equal_those_of_the_expanded_document(fragments: list[list[str]]) -> None:
    """Against the naive walk that expands every spread; spreads point forward only, so that it ends."""
    last = len(fragments)
    text = "{ a { ...F0 } } "
    for number, body in enumerate(fragments):
        inside = " ".join(body).replace("{next}", f"F{number + 1}").replace("{other}", f"F{last}")
        text += f"fragment F{number} on Q {{ {inside} }} "
    text += f"fragment F{last} on Q {{ f x: f @d }}"
    fields, aliases, directives, depth = expanded(text)

    limits = {"fields": fields, "aliases": max(1, aliases), "directives": max(1, directives), "depth": depth}
    found = {limit for limit, _, _ in problems(text, **limits)}
    assert found.isdisjoint(limits)
    for name, value in limits.items():
        if value > 1:
            assert (name, value, value - 1) in problems(text, **limits | {name: value - 1})


def expanded(text: str) -> Counts:
    document = parse(text)
    fragments = {d.name.value: d for d in document.definitions if isinstance(d, FragmentDefinitionNode)}

    def walk(node: Any, level: int) -> Counts:
        fields, aliases, directives, depth = 0, 0, 0, 0
        for selection in node.selection_set.selections if node.selection_set else ():
            is_field = isinstance(selection, FieldNode)
            inner = fragments[selection.name.value] if isinstance(selection, FragmentSpreadNode) else selection
            below = walk(inner, level + is_field)
            fields += is_field + below[0]
            aliases += (is_field and selection.alias is not None) + below[1]
            directives += len(selection.directives or ()) + below[2]
            depth = max(depth, level + is_field, below[3])
        return fields, aliases, directives, depth

    operation = next(d for d in document.definitions if isinstance(d, OperationDefinitionNode))
    return walk(operation, 0)
