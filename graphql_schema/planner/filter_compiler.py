"""Turns a connection's `where` into SQL. Null counts as "does not hold", so that `not` finds what the filter leaves."""

from __future__ import annotations

from typing import Any

from sqlalchemy import ColumnElement, and_, func, literal_column, not_, or_, true

from graphql_schema.planner.arguments import Symbol
from graphql_schema.planner.comparisons import Parameter, compare
from graphql_schema.planner.connections import ConnectionMap
from graphql_schema.planner.errors import InvalidArgument

MOST_FILTER_DEPTH = 10
MOST_CONDITIONS = 100
_LOGIC = ("and", "or", "not")
_FALSE: ColumnElement[bool] = literal_column("false")


class FilterCompiler:
    """Compiles one filter over one alias; counts its conditions, the empty ones too, against the bound."""

    argument = "where"

    def __init__(self, mapping: ConnectionMap, columns: Any, parameter: Parameter) -> None:
        self._mapping, self._columns, self._parameter = mapping, columns, parameter
        self._conditions = 0

    def compile(self, where: dict[str, Symbol], depth: int = 1) -> ColumnElement[bool]:
        if depth > MOST_FILTER_DEPTH:
            raise InvalidArgument(self.argument, f"may be nested {MOST_FILTER_DEPTH} deep")
        given = {name: value for name, value in where.items() if value is not None}
        comparisons = self._comparisons({name: value for name, value in given.items() if name not in _LOGIC})
        self._count(max(1, len(comparisons)))
        nested = [self._nested(name, given[name], depth + 1) for name in _LOGIC if name in given]
        return and_(true(), *comparisons, *nested)

    def _comparisons(self, given: dict[str, Symbol]) -> list[ColumnElement[bool]]:
        conditions: list[ColumnElement[bool]] = []
        for name, how in given.items():
            conditions += self._comparison(name, how)
        return conditions

    def _comparison(self, name: str, how: Symbol) -> list[ColumnElement[bool]]:
        column, kind = self._mapping.filters[name]
        return compare(self._columns[column], how, kind, self._parameter)

    def _nested(self, name: str, value: Symbol, depth: int) -> ColumnElement[bool]:
        if name == "not":
            return not_(func.coalesce(self.compile(value, depth), _FALSE))
        parts = [self.compile(part, depth) for part in value]
        return and_(true(), *parts) if name == "and" else or_(_FALSE, *parts)

    def _count(self, more: int) -> None:
        self._conditions += more
        if self._conditions > MOST_CONDITIONS:
            raise InvalidArgument(self.argument, f"may hold {MOST_CONDITIONS} conditions")
