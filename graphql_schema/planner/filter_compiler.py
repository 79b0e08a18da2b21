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
_FALSE: ColumnElement[bool] = literal_column("false")


class FilterCompiler:
    """Compiles one filter over one alias; counts its conditions, the empty ones too, against the bound."""

    def __init__(self, mapping: ConnectionMap, columns: Any, parameter: Parameter) -> None:
        self._mapping, self._columns, self._parameter = mapping, columns, parameter
        self._conditions = 0

    def compile(self, where: dict[str, Symbol], depth: int = 1) -> ColumnElement[bool]:
        if depth > MOST_FILTER_DEPTH:
            raise InvalidArgument("where", f"may be nested {MOST_FILTER_DEPTH} deep")
        conditions: list[ColumnElement[bool]] = []
        for name, value in where.items():
            if value is not None:
                conditions += self._conditions_of(name, value, depth)
        self._count(len(conditions) + 1)
        return and_(true(), *conditions)

    def _conditions_of(self, name: str, value: Symbol, depth: int) -> list[ColumnElement[bool]]:
        if name == "not":
            return [not_(func.coalesce(self.compile(value, depth + 1), _FALSE))]
        if name in {"and", "or"}:
            parts = [self.compile(part, depth + 1) for part in value]
            return parts if name == "and" else [or_(*parts) if parts else _FALSE]
        column, kind = self._mapping.filters[name]
        return compare(self._columns[column], value, kind, self._parameter)

    def _count(self, more: int) -> None:
        self._conditions += more
        if self._conditions > MOST_CONDITIONS:
            raise InvalidArgument("where", f"may hold {MOST_CONDITIONS} conditions")
