"""What the schema has is known to the reference, which says what is right, so that generated operations may ask for it.

Whoever adds to the schema learns here what to teach: tests/fixtures/reference.py how it is answered, or LEFT_OUT in
tests/fixtures/generated.py that it is worked out in Python; tests/fixtures/pools.py the ids to compare with.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from graphql import GraphQLInputObjectType, get_named_type

from app.ids import Prefix
from graphql_schema.schema import schema
from tests.fixtures.graph import Graph
from tests.fixtures.pools import pools_of
from tests.fixtures.reference import PREFIXES, Reference, comparable, difference
from tests.fixtures.walk import Walk

pytestmark = pytest.mark.asyncio(loop_scope="session")
SCHEMA = schema._schema


async def test_every_field_filter_order_and_grouping(graph: Graph, reference: Reference) -> None:
    admin, agent = graph.seed.admin, json.dumps(graph.seed.id(Prefix.AGENT, graph.seed.agents[0]))
    needed = {"slug": '"agent-0"', "name": '"reviewer"', "id": agent, "ids": f"[{agent}]", "p": "0.5"}

    for text, expected in Walk(SCHEMA, needed).operations(lambda text: reference.answer(text, {}, admin)):
        found = difference(comparable(await graph.ask(text)), comparable(expected))
        assert found is None, (found, text)


async def test_every_kind_and_every_id_to_compare_with(graph: Graph) -> None:
    pools = pools_of(graph.seed)
    node: Any = SCHEMA.get_type("Node")

    assert set(PREFIXES.values()) == {one.name for one in SCHEMA.get_possible_types(node)}
    assert set(PREFIXES) == {one.value for one in Prefix}
    assert [name for name in compared_by_id() if not pools.keys() & {name, name.rpartition(".")[2]}] == []


def compared_by_id() -> list[str]:
    """Kind and filter; of its own id just the kind."""
    filters = [
        (of.name.removesuffix("Filter"), name, get_named_type(one.type))
        for of in SCHEMA.type_map.values()
        if isinstance(of, GraphQLInputObjectType) and of.name.endswith("Filter")
        for name, one in of.fields.items()
    ]
    return [
        kind if name == "id" else f"{kind}.{name}"
        for kind, name, comparison in filters
        if comparison.name == "IDComparison"
    ]
