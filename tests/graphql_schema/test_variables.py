"""The short way to coerce variables gives what graphql-core gives."""

from __future__ import annotations

from typing import Any

import pytest
from graphql import OperationDefinitionNode, parse
from graphql.execution.values import get_variable_values

from graphql_schema.answer import Document, Operation
from graphql_schema.schema import schema
from graphql_schema.variables import BadVariables, coerced

DEFINITIONS = ["$a: String", "$a: String!", "$a: Int", "$a: Int!", "$a: ID", "$a: Boolean!", "$a: Float", "$a: [Int!]",
               '$a: String = "x"', "$a: Int = 3"]  # fmt: skip
GIVEN: list[dict[str, Any]] = [
    {}, {"a": None}, {"a": "x"}, {"a": 1}, {"a": 1.0}, {"a": 1.5}, {"a": True}, {"a": 2**31}, {"a": -(2**31)},
    {"a": [1]}, {"a": {"b": 1}}, {"b": 1},
]  # fmt: skip


@pytest.mark.parametrize("definition", DEFINITIONS)
@pytest.mark.parametrize("given", GIVEN, ids=str)
def test_equal_to_graphql_core(definition: str, given: dict[str, Any]) -> None:
    ast = parse(f"query({definition}) {{ __typename }}")
    node = ast.definitions[0]
    assert isinstance(node, OperationDefinitionNode)
    operation = Operation(Document("", ast, {None: node}), node, None, given)
    expected = get_variable_values(schema._schema, node.variable_definitions or (), given)

    for _ in range(2):  # read, then known
        try:
            found: Any = coerced(schema._schema, operation)
        except BadVariables:
            found = "refused"

        assert found == ("refused" if isinstance(expected, list) else expected.coerced)
        assert found == "refused" or all(type(found[k]) is type(expected.coerced[k]) for k in found)  # type: ignore[union-attr]
