"""Introspection gives what graphql-core would give, within bounds."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from graphql import execute, get_introspection_query, parse

from app.errors import LimitExceeded
from graphql_schema.planner.introspection import IntrospectionRenderer
from graphql_schema.planner.selection import Selection
from graphql_schema.schema import schema
from tests.fixtures.graph import Graph

pytestmark = pytest.mark.asyncio(loop_scope="session")
CORE = schema._schema
QUERIES: list[tuple[str, dict[str, Any]]] = [
    (get_introspection_query(), {}),
    (
        get_introspection_query(
            specified_by_url=True, directive_is_repeatable=True, schema_description=True, input_value_deprecation=True
        ),
        {},
    ),
    ("{ __typename __schema { __typename queryType { name } subscriptionType { name fields { name } } } }", {}),
    ('{ a: __type(name: "Agent") { kind interfaces { name } } __type(name: "Node") { possibleTypes { name } } }', {}),
    ('{ __type(name: "Nobody") { name } }', {}),
    (
        "query ($n: String!, $d: Boolean!, $s: Boolean!) "
        "{ __type(name: $n) { ...T } } "
        "fragment T on __Type { name @skip(if: $s) kind enumValues(includeDeprecated: $d) { name } }",
        {"n": "KeyRole", "d": True, "s": True},
    ),
    ("{ __schema { directives { name locations args { name defaultValue type { kind ofType { name } } } } } }", {}),
]  # fmt: skip


@pytest.mark.parametrize(("query", "variables"), QUERIES)
async def test_same_as_graphql_core(graph: Graph, query: str, variables: dict[str, Any]) -> None:
    expected = execute(CORE, parse(query), variable_values=variables)

    answer = await graph.run(query, variables)

    assert not answer.refused
    assert answer.body == orjson.dumps({"data": expected.data})


async def test_beside_other_root_fields_it_is_small_or_refused(graph: Graph) -> None:
    small = await graph.ask("{ team { slug } __schema { queryType { name } } }")
    error = await graph.refusal("{ team { slug } __schema { types { name description } } }")

    assert small["data"] == {"team": {"slug": "first"}, "__schema": {"queryType": {"name": "Query"}}}
    assert (error["extensions"]["limit"], error["extensions"]["maximum"]) == ("introspectionValues", 1_000)


async def test_bounds_hold_for_values_and_bytes_however_often_a_type_is_named() -> None:
    text = "{ __schema { " + " ".join(f"t{n}: types {{ name description }}" for n in range(40)) + " } }"
    document = parse(text)
    selection = Selection(CORE, document, {})
    assert CORE.query_type is not None
    selected = selection.fields(CORE.query_type, [document.definitions[0].selection_set])  # type: ignore[attr-defined]

    for bounds, limit in (
        ({"max_values": 10_000, "max_bytes": 10**9}, "introspectionValues"),
        ({"max_values": 10**9, "max_bytes": 100_000}, "answerBytes"),
    ):
        renderer = IntrospectionRenderer(CORE, selection, {}, **bounds)
        with pytest.raises(LimitExceeded) as refusal:
            renderer.render(CORE.query_type, selected)
        assert refusal.value.details["limit"] == limit
