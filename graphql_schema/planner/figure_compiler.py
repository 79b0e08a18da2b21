"""Turns the figures of a connection into SQL: the count and aggregates over all that its filter matches.

Its groups have a file of their own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from graphql import FieldNode, GraphQLObjectType, get_named_type
from sqlalchemy import ColumnElement, FromClause, Select, func, literal_column, select
from sqlalchemy.types import Double

from graphql_schema.planner.arguments import arguments_of
from graphql_schema.planner.connections import COUNT_BOUND, ConnectionMap
from graphql_schema.planner.cost import Cost
from graphql_schema.planner.figures import PERCENTILE_COST, checked_share, figure
from graphql_schema.planner.group_compiler import GroupCompiler
from graphql_schema.planner.sql import ONE_ROW, Pairs, json_object, word

if TYPE_CHECKING:
    from graphql_schema.planner.compiler import Compiler

AGGREGATES_COST = 20
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

    def aggregates(self, of: GraphQLObjectType, nodes: list[FieldNode], cost: Cost) -> ColumnElement[Any]:
        self._cost = cost.add(own=AGGREGATES_COST)
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
        column, inner = columns[self._mapping.aggregates[name].column], _object_type(of, name)
        fields = self._compiler.selection.below(inner, nodes)
        return json_object([(key, self._figure(inner, asked[0], column)) for key, asked in fields.items()])

    def _figure(self, of: GraphQLObjectType, node: FieldNode, column: Any) -> ColumnElement[Any]:
        name = node.name.value
        self._compiler.size.add()
        if name == "__typename":
            return word(of.name)
        share = arguments_of(of.fields[name], node, self._compiler.variables).get("p")
        if share is None:
            return figure(name, column)
        self._cost.own += PERCENTILE_COST
        return figure(name, column, self._compiler.parameters.add(share, Double(), checked_share))

    def grouped(self, of: GraphQLObjectType, nodes: list[FieldNode], cost: Cost) -> ColumnElement[Any]:
        arguments = arguments_of(of.fields["groupedAggregates"], nodes[0], self._compiler.variables)
        answer = _object_type(of, "groupedAggregates")
        groups = GroupCompiler(self._compiler, self._mapping, self._filtered, self._correlate, answer, arguments)
        return groups.compile(nodes, cost)


def _object_type(of: GraphQLObjectType, field: str) -> GraphQLObjectType:
    named = get_named_type(of.fields[field].type)
    assert isinstance(named, GraphQLObjectType)
    return named
