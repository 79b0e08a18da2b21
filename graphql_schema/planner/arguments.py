"""Arguments as the compiler sees them: structure known now, leaf values read when the operation runs.

A plan is compiled once per *shape* of its variables. Input objects, lists of them, enums, booleans and nulls decide
the SQL and belong to the shape; other scalars become `Bind`s, read from the variables at each run.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

from graphql import (
    FieldNode,
    GraphQLBoolean,
    GraphQLEnumType,
    GraphQLField,
    GraphQLInputObjectType,
    GraphQLInputType,
    GraphQLList,
    GraphQLNonNull,
    ListValueNode,
    NullValueNode,
    ObjectValueNode,
    Undefined,
    ValueNode,
    VariableNode,
)
from graphql.utilities import coerce_input_literal

from graphql_schema.planner.errors import InvalidArgument

Variables = Mapping[str, Any]
Symbol = Any  # dict | list | Enum | bool | None | Bind
Read = Callable[[Variables], Any]
_SCALAR = "·"


@dataclass(frozen=True, slots=True, eq=False)
class Bind:
    """A leaf value: `read(variables)` gives it at run time."""

    read: Read


def constant(value: Any) -> Bind:
    return Bind(lambda _: value)


def storable(text: str, argument: str) -> str:
    """The text; raises InvalidArgument for one that Postgres cannot hold."""
    try:
        whole = b"\0" not in text.encode()
    except UnicodeEncodeError:
        whole = False
    if not whole:
        raise InvalidArgument(argument, "holds a NUL character or half of a surrogate pair, which no stored text has")
    return text


def shape(value: Any) -> Hashable:
    """What of a coerced variable decides the SQL."""
    if isinstance(value, dict):
        return tuple((key, shape(item)) for key, item in value.items())
    if isinstance(value, list):
        return ("list", tuple(map(shape, value)) if _structural(value) else _SCALAR)
    return value if value is None or isinstance(value, bool | Enum) else _SCALAR


def _structural(items: list[Any]) -> bool:
    return all(item is None or isinstance(item, dict | list | bool | Enum) for item in items)


def arguments_of(field: GraphQLField, node: FieldNode, variables: Variables) -> dict[str, Symbol]:
    """The arguments of a field by their GraphQL names; those neither given nor defaulted are absent."""
    given = {argument.name.value: argument.value for argument in node.arguments or ()}
    return _members(field.args, given, variables)


def _members(types: Mapping[str, Any], given: Mapping[str, ValueNode], variables: Variables) -> dict[str, Symbol]:
    found = {}
    for name, definition in types.items():
        value = symbol(given[name], definition.type, variables) if name in given else Undefined
        if value is Undefined and definition.default_value is not Undefined:
            value = lift(definition.default_value, constant(definition.default_value).read)
        if value is None and isinstance(definition.type, GraphQLNonNull):
            # A variable that may be null is allowed here by its default; only its value tells.
            raise InvalidArgument(name, "must not be null")
        if value is not Undefined:
            found[name] = value
    return found


def symbol(node: ValueNode, of: GraphQLInputType, variables: Variables) -> Symbol:
    """A literal with variables anywhere inside it; Undefined when it is a variable that was not given."""
    if isinstance(of, GraphQLNonNull):
        of = of.of_type
    if isinstance(node, VariableNode):
        name = node.name.value
        return lift(variables[name], lambda values: values[name]) if name in variables else Undefined
    if isinstance(node, NullValueNode):
        return None
    if isinstance(of, GraphQLList):
        return _list_symbol(node, of.of_type, variables)
    if isinstance(of, GraphQLInputObjectType) and isinstance(node, ObjectValueNode):
        given = {field.name.value: field.value for field in node.fields}
        return _members(of.fields, given, variables)
    value = coerce_input_literal(node, of)
    return value if isinstance(of, GraphQLEnumType) or of is GraphQLBoolean else constant(value)


def _list_symbol(node: ValueNode, of: GraphQLInputType, variables: Variables) -> Symbol:
    nodes = node.values if isinstance(node, ListValueNode) else (node,)
    items = [None if value is Undefined else value for value in (symbol(item, of, variables) for item in nodes)]
    if None in items and isinstance(of, GraphQLNonNull):
        raise InvalidArgument(str(of), "a list of these must not hold null")
    if any(isinstance(item, Bind) for item in items):
        return Bind(lambda values: [item.read(values) if isinstance(item, Bind) else item for item in items])
    return items


def lift(value: Any, read: Read) -> Symbol:
    """A coerced value as a symbol whose leaves are read through `read`."""
    if isinstance(value, dict):
        return {key: lift(item, _member_reader(read, key)) for key, item in value.items()}
    if isinstance(value, list):
        if _structural(value):
            return [lift(item, _member_reader(read, index)) for index, item in enumerate(value)]
        return Bind(read)
    return value if value is None or isinstance(value, bool | Enum) else Bind(read)


def _member_reader(read: Read, key: Any) -> Read:
    return lambda values: read(values)[key]
