"""Answers introspection: the selection is compiled once and run over the schema, within a bound on the answer.

graphql-core would complete every value by itself, 46 times for 46 aliases, with no way to stop it. Here what is said of
a type in one place of the selection is rendered once, and the bounds are checked on the way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import orjson
from graphql import (
    FieldNode,
    GraphQLEnumType,
    GraphQLNamedType,
    GraphQLObjectType,
    GraphQLSchema,
    GraphQLWrappingType,
    SchemaMetaFieldDef,
    TypeMetaFieldDef,
    get_named_type,
    get_nullable_type,
    is_list_type,
)

from app.config import environment_name
from app.errors import LimitExceeded
from graphql_schema.planner.arguments import Bind, Variables, arguments_of
from graphql_schema.planner.limits import answer_too_large
from graphql_schema.planner.selection import Selected, Selection

META_FIELDS = {"__schema": SchemaMetaFieldDef, "__type": TypeMetaFieldDef}
VALUES_A_POINT = 100
MAX_VALUES_BESIDE_OTHERS = 1_000  # where graphql-core answers it together with other root fields
_TYPENAME = "__typename"


@dataclass(frozen=True, slots=True)
class Introspected:
    """The JSON of the data, and how many values it has."""

    body: bytes
    values: int

    @property
    def cost(self) -> int:
        return -(-self.values // VALUES_A_POINT)

    @property
    def size(self) -> int:
        return len(self.body) // 4  # the cache of plans counts characters, which take four bytes with all around them


@dataclass(slots=True)
class _Object:
    """The compiled selection on one introspection type; `rendered` is what was made of a type, and its values."""

    fields: list[_Field] = field(default_factory=list)
    rendered: dict[int, tuple[bytes, int]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Field:
    key: bytes
    resolve: Callable[..., Any]
    arguments: dict[str, Any]
    many: bool
    child: _Object | None
    leaf: Callable[[Any], bytes]


class IntrospectionRenderer:
    """Renders for one operation; raises LimitExceeded."""

    def __init__(
        self, schema: GraphQLSchema, selection: Selection, variables: Variables, *, max_values: int, max_bytes: int
    ) -> None:
        self._schema, self._selection, self._variables = schema, selection, variables
        self._max_values, self._max_bytes = max_values, max_bytes
        self._info = SimpleNamespace(schema=schema)  # all that the resolvers of introspection ask for
        self.values = 0

    def render(self, of: GraphQLObjectType, selected: Selected) -> Introspected:
        """The data of root fields that are all introspection."""
        body = self._object(self._compile(of, selected), None)
        return Introspected(body, self.values)

    def _compile(self, of: GraphQLObjectType, selected: Selected) -> _Object:
        return _Object([self._field(of, key, nodes) for key, nodes in selected.items()])

    def _field(self, of: GraphQLObjectType, key: str, nodes: list[FieldNode]) -> _Field:
        name, label = nodes[0].name.value, orjson.dumps(key) + b":"
        if name == _TYPENAME:
            return _Field(label, lambda *_: of.name, {}, False, None, orjson.dumps)
        definition = META_FIELDS.get(name) or of.fields[name]
        named, inner = get_named_type(definition.type), None
        if isinstance(named, GraphQLObjectType):
            inner = self._compile(named, self._selection.below(named, nodes))
        given = arguments_of(definition, nodes[0], self._variables)
        arguments = {
            argument: value.read(self._variables) if isinstance(value, Bind) else value
            for argument, value in given.items()
        }
        assert definition.resolve is not None
        many = is_list_type(get_nullable_type(definition.type))
        leaf = _enum_leaf(named) if isinstance(named, GraphQLEnumType) else orjson.dumps
        return _Field(label, definition.resolve, arguments, many, inner, leaf)

    def _object(self, of: _Object, source: Any) -> bytes:
        if not isinstance(source, GraphQLNamedType | GraphQLWrappingType):
            return self._render(of, source)
        if known := of.rendered.get(id(source)):
            self._count(known[1])
            return known[0]
        before = self.values
        body = self._render(of, source)
        of.rendered[id(source)] = (body, self.values - before)
        return body

    def _render(self, of: _Object, source: Any) -> bytes:
        self._count(1 + len(of.fields))
        parts = [field.key + self._value(field, source) for field in of.fields]
        return b"{" + self._join(parts) + b"}"

    def _value(self, field: _Field, source: Any) -> bytes:
        value = field.resolve(source, self._info, **field.arguments)
        if value is None:
            return b"null"
        child = field.child
        if not field.many:
            return field.leaf(value) if child is None else self._object(child, value)
        items: Iterable[bytes] = (
            map(field.leaf, value) if child is None else (self._object(child, item) for item in value)
        )
        return b"[" + self._join(list(items)) + b"]"

    def _join(self, parts: list[bytes]) -> bytes:
        size = sum(map(len, parts))
        if size > self._max_bytes:
            raise answer_too_large(size, self._max_bytes)
        return b",".join(parts)

    def _count(self, more: int) -> None:
        self.values += more
        if self.values > self._max_values:
            raise LimitExceeded(
                f"This introspection asks for more than {self._max_values} values. Ask for less of each type, for "
                "single types with __type, or in an operation without other root fields.",
                limit="introspectionValues",
                value=self.values,
                maximum=self._max_values,
                setting=environment_name("max_introspection_values"),
            )


def _enum_leaf(of: GraphQLEnumType) -> Callable[[Any], bytes]:
    return lambda value: orjson.dumps(of.serialize(value))
