"""Coerces the variables of an operation: at once where all are plain scalars of the right kind, else by graphql-core.

graphql-core reads the definitions anew for each request, which takes longer than all else that a short query needs.
"""

from __future__ import annotations

from typing import Any

from graphql import (
    GraphQLSchema,
    NamedTypeNode,
    NonNullTypeNode,
    OperationDefinitionNode,
    VariableDefinitionNode,
)
from graphql.execution.values import get_variable_values

from app.errors import AppError
from graphql_schema.answer import Operation

_INT = range(-(2**31), 2**31)
_PLAIN: dict[str, type] = {"String": str, "ID": str, "Boolean": bool, "Int": int}
_Plain = list[tuple[str, type, bool]]  # name, the only type that is taken as it is, whether it may be null or absent


class BadVariables(AppError):
    code = "BAD_VARIABLES"


def coerced(core: GraphQLSchema, operation: Operation) -> dict[str, Any]:
    """Raises BadVariables."""
    definitions = operation.node.variable_definitions
    if not definitions:
        return {}
    found = _as_they_are(operation)
    if found is not None:
        return found
    values = get_variable_values(core, definitions, operation.variables, max_errors=10)
    if isinstance(values, list):
        raise BadVariables("; ".join(error.message for error in values))
    return values.coerced


def _as_they_are(operation: Operation) -> dict[str, Any] | None:
    plain = _plain_of(operation)
    if plain is None:
        return None
    found = {}
    for name, kind, optional in plain:
        value = operation.variables.get(name)
        if type(value) is kind and (kind is not int or value in _INT):
            found[name] = value
        elif value is not None or not optional:
            return None
        elif name in operation.variables:
            found[name] = None
    return found


def _plain_of(operation: Operation) -> _Plain | None:
    """None when some variable has a default or another type."""
    key, kept = ("plain variables", operation.name), operation.document.plans
    if key not in kept:
        kept[key] = _read(operation.node)
    found: _Plain | None = kept[key]
    return found


def _read(node: OperationDefinitionNode) -> _Plain | None:
    plain = [_plain(definition) for definition in node.variable_definitions or ()]
    return None if None in plain else [entry for entry in plain if entry is not None]


def _plain(definition: VariableDefinitionNode) -> tuple[str, type, bool] | None:
    required = isinstance(definition.type, NonNullTypeNode)
    named = definition.type.type if isinstance(definition.type, NonNullTypeNode) else definition.type
    if definition.default_value is not None or not isinstance(named, NamedTypeNode):
        return None
    kind = _PLAIN.get(named.name.value)
    return (definition.variable.name.value, kind, not required) if kind else None
