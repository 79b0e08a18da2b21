"""Turns a connection's groups into SQL.

Three layers: the innermost groups the rows and computes every figure that is asked for, compared or ordered by, once;
the next takes the groups that hold, in order, up to `first`; the outermost makes the answer, so that what hangs on a
key is read only for the groups that are shown.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from graphql import FieldNode, GraphQLObjectType, get_named_type
from sqlalchemy import ColumnElement, Double, Integer, cast, column, func, literal_column, null, select

from graphql_schema.planner.arguments import Bind, Symbol, arguments_of
from graphql_schema.planner.comparisons import Comparable, Parameter, compare
from graphql_schema.planner.connections import ConnectionMap, Direction
from graphql_schema.planner.cost import Cost
from graphql_schema.planner.errors import InvalidArgument
from graphql_schema.planner.figures import COUNT, OF_GROUP, PERCENTILE, PERCENTILE_COST, checked_share, figure
from graphql_schema.planner.filter_compiler import FilterCompiler
from graphql_schema.planner.grouping import MOST_GROUP_BY, MOST_GROUP_ORDER, MOST_GROUPS, Group
from graphql_schema.planner.limits import PlanSize
from graphql_schema.planner.sql import ONE_ROW, Pairs, json_list, json_object, rendered, word

if TYPE_CHECKING:
    from graphql_schema.planner.compiler import Compiler
    from graphql_schema.planner.figure_compiler import Correlate, Filtered

GROUPS_COST = 25
_ALL_GROUPS = "$groups"
Asked = tuple[str, str]  # response keys of a column of a group, or of the group's own figure, and of the figure


class GroupCompiler:
    """Compiles one `groupedAggregates`; `of` is the type of its answer."""

    def __init__(
        self,
        compiler: Compiler,
        mapping: ConnectionMap,
        filtered: Filtered,
        correlate: Correlate,
        of: GraphQLObjectType,
        arguments: dict[str, Symbol],
    ) -> None:
        self._compiler, self._mapping, self._correlate = compiler, mapping, correlate
        self._of, self._arguments = of, arguments
        self._alias, self._columns, self._condition = filtered()
        self._keys = self._group_keys([member.value for member in arguments["groupBy"]])
        self._figures: dict[str, ColumnElement[Any]] = {}
        self._labels: dict[tuple[str | None, str], str] = {}

    def compile(self, nodes: list[FieldNode], cost: Cost) -> ColumnElement[Any]:
        size: Bind = self._arguments["first"]
        self._cost = cost.add(own=GROUPS_COST, times=lambda variables: _group_count(size.read(variables)), each=1)
        selected = self._compiler.selection.below(self._of, nodes)
        group = _object_type(self._of, "groups")
        labels = {key: self._ask(group, asked) for key, asked in selected.items() if asked[0].name.value == "groups"}
        self._counted = any(asked[0].name.value in {"totalCount", "hasMore"} for asked in selected.values())
        groups = self._taken(size)
        pairs: Pairs = [
            (key, self._member(group, asked, labels.get(key, {}), groups)) for key, asked in selected.items()
        ]
        return select(json_object(pairs)).select_from(groups).having(ONE_ROW).scalar_subquery()

    def _taken(self, size: Bind) -> Any:
        """The groups that are shown: their keys, their figures, and how many groups there are."""
        having, order = self._having(), self._order()
        keys = [expression.label(group.label) for group, expression in self._keys.values()]
        figures = [expression.label(label) for label, expression in self._figures.items()]
        all_groups = (
            select(*keys, *figures)
            .select_from(self._alias)
            .where(self._condition)
            .group_by(*(expression for _, expression in self._keys.values()))
        )
        groups = self._correlate(all_groups).subquery()
        limit = self._compiler.parameters.add(size, Integer(), _group_count)
        counted = [func.count().over().label(_ALL_GROUPS)] if self._counted else []
        return select(*groups.c, *counted).where(having).order_by(*order).limit(limit).subquery()

    # What is computed of each group

    def _figure(self, aggregate: str | None, name: str, share: Bind | None = None) -> str:
        """The label of a figure in the grouped statement, where it is computed once however often it is named."""
        known = self._labels.get((aggregate, name))
        if known is not None and share is None:
            return known
        label = f"$f{len(self._figures)}"
        self._labels[aggregate, name] = label
        self._figures[label] = self._expression(aggregate, name, share)
        return label

    def _expression(self, aggregate: str | None, name: str, share: Bind | None) -> ColumnElement[Any]:
        self._compiler.size.add()
        if aggregate is None:
            return func.count() if name == COUNT else func.count() / cast(func.sum(func.count()).over(), Double())
        at = None
        if share is not None:
            self._cost.own += PERCENTILE_COST
            at = self._compiler.parameters.add(share, Double(), checked_share)
        return figure(name, self._columns[self._mapping.aggregates[aggregate].column], at)

    def _ask(self, of: GraphQLObjectType, nodes: list[FieldNode]) -> dict[Asked, str]:
        """The labels of the figures that a selection of a group names, by their response keys."""
        labels: dict[Asked, str] = {}
        for key, field in self._compiler.selection.below(of, nodes).items():
            name = field[0].name.value
            if name in OF_GROUP:
                labels[key, ""] = self._figure(None, name)
            elif name in self._mapping.aggregates:
                inner = _object_type(of, name)
                for inner_key, asked in self._compiler.selection.below(inner, field).items():
                    if asked[0].name.value != "__typename":
                        share = arguments_of(inner.fields[asked[0].name.value], asked[0], self._compiler.variables)
                        labels[key, inner_key] = self._figure(name, asked[0].name.value, share.get("p"))
        return labels

    # Which groups, and in which order

    def _group_keys(self, chosen: list[str]) -> dict[str, tuple[Group, ColumnElement[Any]]]:
        if not 1 <= len(chosen) <= MOST_GROUP_BY:
            raise InvalidArgument("groupBy", f"takes 1 to {MOST_GROUP_BY} ways to group, not {len(chosen)}")
        keys: dict[str, tuple[Group, ColumnElement[Any]]] = {}
        for name in chosen:
            if name in keys:
                raise InvalidArgument("groupBy", f"names {name} twice")
            group = self._mapping.groups[name]
            column = self._columns[group.column]
            keys[name] = (group, func.date_trunc(word(group.bucket), column) if group.bucket else column)
        return keys

    def _having(self) -> ColumnElement[bool]:
        having = self._arguments.get("having")
        return _HavingCompiler(self._mapping, self._figure, self._compiler.parameters.add, self._compiler.size).compile(
            having or {}
        )

    def _order(self) -> list[ColumnElement[Any]]:
        """What is asked for, then the largest group, then the keys, so that the order is whole."""
        parts = self._arguments.get("orderBy") or []
        if len(parts) > MOST_GROUP_ORDER:
            raise InvalidArgument("orderBy", f"takes at most {MOST_GROUP_ORDER} parts, not {len(parts)}")
        asked = [(self._ordered_by(part), part["direction"] is Direction.DESC) for part in parts]
        then = [(self._figure(None, COUNT), True), *((group.label, False) for group, _ in self._keys.values())]
        return [
            (column(label).desc() if descending else column(label).asc()).nulls_last()
            for label, descending in [*asked, *then]
        ]

    def _ordered_by(self, part: dict[str, Symbol]) -> str:
        name, share = part["field"].value, part.get("p")
        order = self._mapping.group_orders[name]
        if (order.figure == PERCENTILE) is (share is None):
            raise InvalidArgument("orderBy", f"{name} needs p" if share is None else f"{name} takes no p")
        if order.key is None:
            return self._figure(order.aggregate, order.figure, share)
        if order.key not in self._keys:
            raise InvalidArgument("orderBy", f"names {name}, which groupBy does not")
        return self._keys[order.key][0].label

    # The answer

    def _member(
        self, of: GraphQLObjectType, nodes: list[FieldNode], labels: dict[Asked, str], groups: Any
    ) -> ColumnElement[Any]:
        match nodes[0].name.value:
            case "__typename":
                return word(self._of.name)
            case "totalCount":
                return func.coalesce(func.max(groups.c[_ALL_GROUPS]), literal_column("0"))
            case "hasMore":
                return func.coalesce(func.max(groups.c[_ALL_GROUPS]) > func.count(), literal_column("false"))
        pairs: Pairs = []
        for key, asked in self._compiler.selection.below(of, nodes).items():
            name = asked[0].name.value
            if name == "__typename":
                pairs.append((key, word(of.name)))
            elif name == "key":
                pairs.append((key, self._key(_object_type(of, "key"), asked, groups)))
            elif name in OF_GROUP:
                pairs.append((key, groups.c[labels[key, ""]]))
            else:
                pairs.append((key, self._aggregate(_object_type(of, name), key, asked, labels, groups)))
        return json_list(json_object(pairs))

    def _aggregate(
        self, of: GraphQLObjectType, key: str, nodes: list[FieldNode], labels: dict[Asked, str], groups: Any
    ) -> ColumnElement[Any]:
        pairs: Pairs = []
        for inner_key, asked in self._compiler.selection.below(of, nodes).items():
            is_name = asked[0].name.value == "__typename"
            pairs.append((inner_key, word(of.name) if is_name else groups.c[labels[key, inner_key]]))
        return json_object(pairs)

    def _key(self, of: GraphQLObjectType, nodes: list[FieldNode], groups: Any) -> ColumnElement[Any]:
        pairs: Pairs = []
        for key, asked in self._compiler.selection.below(of, nodes).items():
            pairs.append((key, self._key_part(of, asked, groups)))
        return json_object(pairs)

    def _key_part(self, of: GraphQLObjectType, nodes: list[FieldNode], groups: Any) -> ColumnElement[Any]:
        name = nodes[0].name.value
        if name == "__typename":
            return word(of.name)
        definition = of.fields[name]
        python = definition.extensions["strawberry-definition"].python_name
        for group, _ in self._keys.values():
            if group.key == python:
                return rendered(groups.c[group.label], definition.type, self._mapping.prefixes.get(name))
            if group.link and group.link[0] == python:
                return self._compiler.field(of, nodes, groups.c, groups, self._cost)
        return null()


class _HavingCompiler(FilterCompiler):
    """Compiles a condition over the figures of groups; `name` gives the label of a figure, which is then computed."""

    argument = "having"

    def __init__(self, mapping: ConnectionMap, name: Callable[..., str], parameter: Parameter, size: PlanSize) -> None:
        super().__init__(mapping, None, parameter, size)
        self._name = name

    def _comparison(self, name: str, how: Symbol) -> list[ColumnElement[bool]]:
        if name in OF_GROUP:
            return self._compared(None, name, how, OF_GROUP[name])
        figures = self._mapping.aggregates[name].kind.figures
        conditions: list[ColumnElement[bool]] = []
        for figure_name, comparison in how.items():
            if comparison is not None:
                conditions += self._compared(name, figure_name, comparison, figures[figure_name])
        return conditions

    def _compared(
        self, aggregate: str | None, name: str, how: dict[str, Symbol], kind: Comparable
    ) -> list[ColumnElement[bool]]:
        comparators = {operator: value for operator, value in how.items() if operator != "p"}
        compared: ColumnElement[Any] = column(self._name(aggregate, name, how.get("p")))
        if isinstance(kind.sql_type, Double):
            compared = cast(compared, Double())  # a sum of whole numbers is of another type
        return compare(compared, comparators, kind, self._parameter)


def _object_type(of: GraphQLObjectType, field: str) -> GraphQLObjectType:
    named = get_named_type(of.fields[field].type)
    assert isinstance(named, GraphQLObjectType)
    return named


def _group_count(value: int) -> int:
    if not 1 <= value <= MOST_GROUPS:
        raise InvalidArgument("first", f"must be 1 to {MOST_GROUPS}, not {value}")
    return value
