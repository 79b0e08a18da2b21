"""Turns a connection's `where` into SQL. Null counts as "does not hold", so that `not` finds what the filter leaves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sqlalchemy import ColumnElement, FromClause, and_, func, literal_column, not_, or_, select, true

from graphql_schema.planner.arguments import Symbol
from graphql_schema.planner.comparisons import Comparable, Parameter, compare
from graphql_schema.planner.connections import CONNECTIONS, ConnectionMap
from graphql_schema.planner.errors import InvalidArgument
from graphql_schema.planner.limits import PlanSize
from graphql_schema.planner.list_filters import ListFilter

MOST_FILTER_DEPTH = 10
MOST_CONDITIONS = 100
TEXT_COST = 50  # points for each condition that has to read a text of every row
LONG_TEXT_COST = 200  # of a column without a bound on its length
_LOGIC = ("and", "or", "not")
_TEXT_OPERATORS = ("contains", "startsWith", "match")
Child = Callable[[str], tuple[Any, FromClause, Any, ColumnElement[bool]]]  # the compiler's, which keeps to the team
_FALSE: ColumnElement[bool] = literal_column("false")


class FilterCompiler:
    """Compiles one filter over one alias; counts its conditions, the empty ones too, against the bound.

    `cost` adds up the points for the texts that its conditions have to read.
    """

    argument = "where"

    def __init__(
        self, mapping: ConnectionMap, columns: Any, parameter: Parameter, size: PlanSize, child: Child | None = None
    ) -> None:
        self._mapping, self._columns, self._parameter = mapping, columns, parameter
        self._size, self._child = size, child
        self._conditions = self.cost = 0

    def compile(self, where: dict[str, Symbol], depth: int = 1) -> ColumnElement[bool]:
        if depth > MOST_FILTER_DEPTH:
            raise InvalidArgument(self.argument, f"may be nested at most {MOST_FILTER_DEPTH} deep")
        given = {name: value for name, value in where.items() if value is not None}
        lists = {name: given.pop(name) for name in self._mapping.lists if name in given}
        comparisons = self._comparisons({name: value for name, value in given.items() if name not in _LOGIC})
        self._count(max(1, len(comparisons)))
        nested = [self._nested(name, given[name], depth + 1) for name in _LOGIC if name in given]
        return and_(true(), *comparisons, *nested, *self._lists(lists, depth + 1))

    def _comparisons(self, given: dict[str, Symbol]) -> list[ColumnElement[bool]]:
        conditions: list[ColumnElement[bool]] = []
        for name, how in given.items():
            conditions += self._comparison(name, how)
        return conditions

    def _comparison(self, name: str, how: Symbol) -> list[ColumnElement[bool]]:
        column, kind = self._mapping.filters[name]
        self._charge_texts(how, kind)
        return compare(self._columns[column], how, kind, self._parameter)

    def _charge_texts(self, how: dict[str, Symbol], kind: Comparable) -> None:
        for operator, value in how.items():
            if operator in _TEXT_OPERATORS and value is not None:
                self._size.add_text_condition()
                self.cost += LONG_TEXT_COST if kind.long and operator != "match" else TEXT_COST

    def _lists(self, given: dict[str, Symbol], depth: int) -> list[ColumnElement[bool]]:
        return [
            self._listed(self._mapping.lists[name], where, depth)
            if quantifier == "some"
            else not_(self._listed(self._mapping.lists[name], where, depth))
            for name, how in given.items()
            for quantifier, where in how.items()
            if where is not None
        ]

    def _listed(self, among: ListFilter, where: dict[str, Symbol], depth: int) -> ColumnElement[bool]:
        """Whether one of the rows that hang on this one is as asked for."""
        assert self._child is not None
        _, alias, columns, scope = self._child(among.node)
        connection = CONNECTIONS[f"{among.node}Connection"]
        inner = FilterCompiler(connection, columns, self._parameter, self._size, self._child)
        inner._conditions = self._conditions
        found = (
            select(_FALSE)
            .select_from(alias)
            .where(scope, among.on(self._columns, columns), inner.compile(where, depth))
        )
        self._conditions = inner._conditions
        self.cost += inner.cost
        return found.correlate_except(alias).exists()

    def _nested(self, name: str, value: Symbol, depth: int) -> ColumnElement[bool]:
        if name == "not":
            return not_(func.coalesce(self.compile(value, depth), _FALSE))
        parts = [self.compile(part, depth) for part in value]
        return and_(true(), *parts) if name == "and" else or_(_FALSE, *parts)

    def _count(self, more: int) -> None:
        self._conditions += more
        self._size.add(more)
        if self._conditions > MOST_CONDITIONS:
            raise InvalidArgument(self.argument, f"may hold {MOST_CONDITIONS} conditions")
