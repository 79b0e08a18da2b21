"""Turns the figures of a connection into SQL: the count, aggregates and groups over all that its filter matches."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from graphql import FieldNode, GraphQLObjectType, get_named_type
from sqlalchemy import Column, ColumnElement, FromClause, Integer, Select, func, literal_column, null, select
from sqlalchemy.types import Double

from graphql_schema.planner.arguments import Bind, Symbol, arguments_of
from graphql_schema.planner.comparisons import comparable, compare
from graphql_schema.planner.connections import COUNT_BOUND, MOST_GROUPS, ConnectionMap
from graphql_schema.planner.cost import Cost
from graphql_schema.planner.errors import InvalidArgument
from graphql_schema.planner.sql import ONE_ROW, Pairs, json_list, json_object, rendered, word

if TYPE_CHECKING:
    from graphql_schema.planner.compiler import Compiler

MOST_GROUP_BY = 5
_COUNT = comparable(Column("count", Integer, nullable=False), None)
Filtered = Callable[[], tuple[FromClause, Any, ColumnElement[bool]]]
Correlate = Callable[[Select[Any]], Select[Any]]


class FigureCompiler:
    """`filtered` gives a fresh alias and the connection's conditions; `correlate` ties a statement to its outer row."""

    def __init__(self, compiler: Compiler, mapping: ConnectionMap, filtered: Filtered, correlate: Correlate) -> None:
        self._compiler, self._mapping, self._filtered, self._correlate = compiler, mapping, filtered, correlate

    def total_count(self) -> ColumnElement[Any]:
        alias, _, condition = self._filtered()
        one: Select[Any] = select(literal_column("1")).select_from(alias).where(condition)
        bounded = self._correlate(one.limit(literal_column(str(COUNT_BOUND + 1))))
        return select(func.count()).select_from(bounded.subquery()).scalar_subquery()

    def aggregates(self, of: GraphQLObjectType, nodes: list[FieldNode]) -> ColumnElement[Any]:
        alias, columns, condition = self._filtered()
        pairs: Pairs = []
        for key, field in self._compiler.selection.below(of, nodes).items():
            pairs.append((key, self._aggregate(of, field, columns)))
        statement = select(json_object(pairs)).select_from(alias).where(condition).having(ONE_ROW)
        return self._correlate(statement).scalar_subquery()

    def _aggregate(self, of: GraphQLObjectType, nodes: list[FieldNode], columns: Any) -> ColumnElement[Any]:
        name = nodes[0].name.value
        if name == "__typename":
            return word(of.name)
        if name == "count":
            return func.count()
        column, inner = columns[self._mapping.aggregates[name]], _object_type(of, name)
        fields = self._compiler.selection.below(inner, nodes)
        return json_object([(key, self._figure(inner, field[0], column)) for key, field in fields.items()])

    def _figure(self, of: GraphQLObjectType, node: FieldNode, column: Any) -> ColumnElement[Any]:
        match node.name.value:
            case "__typename":
                return word(of.name)
            case "min":
                return func.min(column)
            case "max":
                return func.max(column)
            case "sum":
                return func.sum(column)
            case "mean":
                return func.avg(column).cast(Double())
        share = arguments_of(of.fields["percentile"], node, self._compiler.variables)["p"]
        return func.percentile_cont(self._compiler.parameters.add(share, Double(), _share)).within_group(column)

    def grouped(self, of: GraphQLObjectType, nodes: list[FieldNode], cost: Cost) -> ColumnElement[Any]:
        group = _object_type(of, "groupedAggregates")
        arguments = arguments_of(of.fields["groupedAggregates"], nodes[0], self._compiler.variables)
        size: Bind = arguments["first"]
        cost.add(own=25, times=lambda variables: _group_count(size.read(variables)), each=1)
        alias, columns, condition = self._filtered()
        keys = self._group_keys([member.value for member in arguments["groupBy"]], columns)
        pairs: Pairs = []
        for key, field in self._compiler.selection.below(group, nodes).items():
            is_key = field[0].name.value == "key"
            pairs.append((key, self._key(group, field, keys) if is_key else self._aggregate(group, field, columns)))
        statement = (
            select(json_object(pairs).label("item"))
            .select_from(alias)
            .where(condition)
            .group_by(*keys.values())
            .having(*self._having(arguments))
            .order_by(func.count().desc(), *keys.values())
            .limit(self._compiler.parameters.add(size, Integer(), _group_count))
        )
        groups = self._correlate(statement).subquery()
        return select(json_list(groups.c.item)).scalar_subquery()

    def _having(self, arguments: dict[str, Symbol]) -> list[ColumnElement[bool]]:
        wanted = (arguments.get("having") or {}).get("count") or {}
        return compare(func.count(), wanted, _COUNT, self._compiler.parameters.add)

    def _group_keys(self, chosen: list[str], columns: Any) -> dict[str, ColumnElement[Any]]:
        if not 1 <= len(chosen) <= MOST_GROUP_BY:
            raise InvalidArgument("groupBy", f"takes 1 to {MOST_GROUP_BY} ways to group, not {len(chosen)}")
        keys: dict[str, ColumnElement[Any]] = {}
        for name in chosen:
            if name in keys:
                raise InvalidArgument("groupBy", f"names {name} twice")
            group = self._mapping.groups[name]
            column = columns[group.column]
            keys[name] = func.date_trunc(word(group.bucket), column) if group.bucket else column
        return keys

    def _key(
        self, of: GraphQLObjectType, nodes: list[FieldNode], keys: dict[str, ColumnElement[Any]]
    ) -> ColumnElement[Any]:
        key_type = _object_type(of, "key")
        by_field = {self._mapping.groups[name].key: expression for name, expression in keys.items()}
        pairs: Pairs = []
        for response, field in self._compiler.selection.below(key_type, nodes).items():
            pairs.append((response, self._key_part(key_type, field[0].name.value, by_field)))
        return json_object(pairs)

    def _key_part(
        self, of: GraphQLObjectType, name: str, by_field: dict[str, ColumnElement[Any]]
    ) -> ColumnElement[Any]:
        if name == "__typename":
            return word(of.name)
        definition = of.fields[name]
        expression = by_field.get(definition.extensions["strawberry-definition"].python_name)
        return null() if expression is None else rendered(expression, definition.type, self._mapping.prefixes.get(name))


def _object_type(of: GraphQLObjectType, field: str) -> GraphQLObjectType:
    named = get_named_type(of.fields[field].type)
    assert isinstance(named, GraphQLObjectType)
    return named


def _share(value: float) -> float:
    if not 0 <= value <= 1:
        raise InvalidArgument("p", f"must be 0 to 1, not {value}")
    return value


def _group_count(value: int) -> int:
    if not 1 <= value <= MOST_GROUPS:
        raise InvalidArgument("first", f"must be 1 to {MOST_GROUPS}, not {value}")
    return value
