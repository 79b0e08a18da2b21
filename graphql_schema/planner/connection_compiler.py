"""Turns one connection field into SQL: the page, its cursors, the count, aggregates and groups."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from graphql import FieldNode, GraphQLObjectType, get_named_type
from sqlalchemy import (
    Column,
    ColumnElement,
    FromClause,
    Integer,
    Select,
    Text,
    Uuid,
    and_,
    bindparam,
    func,
    literal_column,
    not_,
    null,
    or_,
    select,
    true,
)
from sqlalchemy.dialects.postgresql import ARRAY, aggregate_order_by
from sqlalchemy.types import Double

from graphql_schema.planner.arguments import Bind, Symbol, arguments_of, constant
from graphql_schema.planner.comparisons import compare, comparable
from graphql_schema.planner.connections import COUNT_BOUND, MOST_GROUPS, ConnectionMap, Direction
from graphql_schema.planner.cost import Cost
from graphql_schema.planner.errors import InvalidArgument, NotPlanned
from graphql_schema.planner.keyset import DEFAULT_ROWS, MOST_ROWS, Key, Order
from graphql_schema.planner.mapping import Many
from graphql_schema.planner.sql import Pairs, json_list, json_object, rendered, word

if TYPE_CHECKING:
    from graphql_schema.planner.compiler import Compiler

MOST_FILTER_DEPTH = 10
MOST_CONDITIONS = 100
MOST_ORDER = 5
MOST_GROUP_BY = 5


def page_size(argument: str) -> Any:
    def check(value: int) -> int:
        if not 1 <= value <= MOST_ROWS:
            raise InvalidArgument(argument, f"must be 1 to {MOST_ROWS}, not {value}")
        return value

    return check


class ConnectionCompiler:
    def __init__(
        self, compiler: Compiler, mapping: ConnectionMap, of: GraphQLObjectType, arguments: dict[str, Symbol]
    ) -> None:
        self.compiler, self.mapping, self.of, self.arguments = compiler, mapping, of, arguments
        self.conditions = 0
        first, last = arguments.get("first"), arguments.get("last")
        if first is not None and last is not None:
            raise InvalidArgument("last", "give first or last, not both")
        if last is None and arguments.get("before") is not None:
            raise InvalidArgument("before", "goes with last; to read on, use first and after")
        if last is not None and arguments.get("after") is not None:
            raise InvalidArgument("after", "goes with first; to read back, use last and before")
        self.backward = last is not None
        self.size_name = "last" if self.backward else "first"
        self.size: Bind = last if self.backward else first or constant(DEFAULT_ROWS)

    def compile(
        self, nodes: list[FieldNode], plan: Many, row: Any, source: FromClause | None, cost: Cost
    ) -> ColumnElement[Any]:
        self.plan, self.row, self.source = plan, row, source
        selected = self.compiler.selection.below(self.of, nodes)
        names = {field[0].name.value for field in selected.values()}
        paged = bool(names & {"nodes", "edges", "pageInfo"})
        check = page_size(self.size_name)
        page_cost = cost.add(own=1, times=(lambda variables: check(self.size.read(variables))) if paged else None)
        self.one_more = self._needs_more(selected)
        # Without pageInfo a forward page is already in order: the rows need no numbers.
        self.placed = self.backward or "pageInfo" in names
        page = self._page() if paged else None
        pairs: Pairs = []
        for key, field in selected.items():
            pairs.append((key, self._member(field, page, page_cost, cost)))
        if self.compiler.feed:
            pairs.append(("$type", word(self.of.name)))
        statement = select(json_object(pairs))
        if page is not None:
            statement = statement.select_from(page)
        return statement.scalar_subquery()

    def _needs_more(self, selected: dict[str, list[FieldNode]]) -> bool:
        """Whether one row past the page must be looked for."""
        info = get_named_type(self.of.fields["pageInfo"].type)
        assert isinstance(info, GraphQLObjectType)
        wanted = "hasPreviousPage" if self.backward else "hasNextPage"
        return any(
            inner[0].name.value == wanted
            for field in selected.values()
            if field[0].name.value == "pageInfo"
            for inner in self.compiler.selection.below(info, field).values()
        )

    def _member(self, nodes: list[FieldNode], page: Any, page_cost: Cost, cost: Cost) -> ColumnElement[Any]:
        match nodes[0].name.value:
            case "__typename":
                return word(self.of.name)
            case "nodes":
                return self._items(self._node_object(nodes, page, page_cost), page)
            case "edges":
                return self._items(self._edge(nodes, page, page_cost), page)
            case "pageInfo":
                return self._page_info(nodes, page)
            case "totalCount":
                cost.add(own=5)
                return self._total_count()
            case "aggregates":
                cost.add(own=20)
                return self._aggregates(nodes)
            case "groupedAggregates":
                cost.add(own=50)
                return self._grouped(nodes)
        raise NotPlanned

    # The page

    def _filtered(self) -> tuple[FromClause, Any, ColumnElement[bool]]:
        """A fresh alias and the conditions of this connection: team, relation, filter."""
        _, alias, columns, scope = self.compiler.child(self.mapping.node)
        conditions = [scope]
        if self.plan.on is not None:
            conditions.append(self.plan.on(self.row, columns))
        where = self.arguments.get("where")
        if where:
            conditions.append(self._filter(where, columns, 1))
        return alias, columns, and_(*conditions)

    def _order(self, columns: Any) -> Order:
        parts = self.arguments.get("orderBy") or []
        if len(parts) > MOST_ORDER:
            raise InvalidArgument("orderBy", f"takes at most {MOST_ORDER} parts, not {len(parts)}")
        keys = []
        for part in parts:
            name = self.mapping.orders[part["field"].value]
            if any(key.name == name for key in keys):
                raise InvalidArgument("orderBy", f"names {part['field'].value} twice")
            descending = part["direction"] is Direction.DESC
            keys.append(Key(name, columns[name], descending, bool(columns[name].nullable)))
        keys.append(Key("id", columns.id, keys[-1].descending if keys else False, False))
        return Order(tuple(keys))

    def _page(self) -> Any:
        alias, columns, condition = self._filtered()
        order = self._order(columns)
        cursor = self.arguments.get("before" if self.backward else "after")
        if cursor is not None:
            values = [self._cursor_value(cursor, order, at) for at in range(len(order.keys))]
            condition = and_(condition, order.beyond(values, backward=self.backward))
        self._size = self.compiler.parameters.add(self.size, Integer(), page_size(self.size_name))
        clauses = order.clauses(backward=self.backward)
        more = [order.cursor([key.expression for key in order.keys]).label("$cursor")]
        if self.placed:
            more.append(func.row_number().over(order_by=clauses).label("$place"))
        rows = select(alias, *more).where(condition).order_by(*clauses)
        return self._correlate(rows.limit(self._size + 1 if self.one_more else self._size)).subquery()

    def _cursor_value(self, cursor: Bind, order: Order, at: int) -> ColumnElement[Any]:
        key = order.keys[at]
        sql_type = Text() if key.type.python_type not in (int, float) and not _is_exact(key.type) else key.type
        return self.compiler.parameters.add(cursor, sql_type, order.reader(at))

    def _correlate(self, statement: Select[Any]) -> Select[Any]:
        return statement.correlate(self.source) if self.source is not None else statement

    def _items(self, item: ColumnElement[Any], page: Any) -> ColumnElement[Any]:
        if not self.placed:
            return json_list(item)
        place = page.c["$place"]
        made = func.json_agg(aggregate_order_by(item, place.desc() if self.backward else place))
        if self.one_more:
            made = made.filter(place <= self._size)
        return func.coalesce(made, literal_column("'[]'::json"))

    def _node_object(self, nodes: list[FieldNode], page: Any, cost: Cost) -> ColumnElement[Any]:
        of = self.compiler.schema.type_map[self.mapping.node]
        assert isinstance(of, GraphQLObjectType)
        return self.compiler.object(of, nodes, page.c, page, cost)

    def _edge(self, nodes: list[FieldNode], page: Any, cost: Cost) -> ColumnElement[Any]:
        edge = get_named_type(self.of.fields["edges"].type)
        assert isinstance(edge, GraphQLObjectType)
        pairs: Pairs = []
        for key, field in self.compiler.selection.below(edge, nodes).items():
            match field[0].name.value:
                case "__typename":
                    pairs.append((key, word(edge.name)))
                case "cursor":
                    pairs.append((key, page.c["$cursor"]))
                case _:
                    pairs.append((key, self._node_object(field, page, cost)))
        return json_object(pairs)

    def _page_info(self, nodes: list[FieldNode], page: Any) -> ColumnElement[Any]:
        info = get_named_type(self.of.fields["pageInfo"].type)
        assert isinstance(info, GraphQLObjectType)
        more = func.count() > self._size
        started = literal_column("true" if self.arguments.get("before" if self.backward else "after") else "false")
        place = page.c["$place"]
        nearest = func.max(page.c["$cursor"]).filter(place == 1)
        limit = place <= self._size if self.one_more else true()
        ordered = func.array_agg(aggregate_order_by(page.c["$cursor"], place.desc()), type_=ARRAY(Text()))
        farthest = ordered.filter(limit).self_group()[1]
        values = {
            "__typename": word("PageInfo"),
            "hasNextPage": started if self.backward else more,
            "hasPreviousPage": more if self.backward else started,
            "startCursor": farthest if self.backward else nearest,
            "endCursor": nearest if self.backward else farthest,
        }
        pairs = [(key, values[f[0].name.value]) for key, f in self.compiler.selection.below(info, nodes).items()]
        return json_object(pairs)

    # The filter

    def _filter(self, where: dict[str, Symbol], columns: Any, depth: int) -> ColumnElement[bool]:
        if depth > MOST_FILTER_DEPTH:
            raise InvalidArgument("where", f"may be nested {MOST_FILTER_DEPTH} deep")
        conditions: list[ColumnElement[bool]] = []
        for name, value in where.items():
            if value is None:
                continue
            if name == "not":
                conditions.append(not_(func.coalesce(self._filter(value, columns, depth + 1), literal_column("false"))))
            elif name in {"and", "or"}:
                parts = [self._filter(part, columns, depth + 1) for part in value]
                conditions.append(
                    and_(true(), *parts) if name == "and" else or_(*parts) if parts else literal_column("false")
                )
            else:
                column, kind = self.mapping.filters[name]
                conditions += compare(columns[column], value, kind, self.compiler.parameters.add)
        self.conditions += len(conditions)
        if self.conditions > MOST_CONDITIONS:
            raise InvalidArgument("where", f"may hold {MOST_CONDITIONS} conditions")
        return and_(true(), *conditions)

    # Figures over all that the filter matches

    def _total_count(self) -> ColumnElement[Any]:
        alias, _, condition = self._filtered()
        bounded = self._correlate(
            select(literal_column("1")).select_from(alias).where(condition).limit(literal_column(str(COUNT_BOUND + 1)))
        )
        return select(func.count()).select_from(bounded.subquery()).scalar_subquery()

    def _aggregates(self, nodes: list[FieldNode]) -> ColumnElement[Any]:
        of = get_named_type(self.of.fields["aggregates"].type)
        assert isinstance(of, GraphQLObjectType)
        alias, columns, condition = self._filtered()
        pairs = [(key, self._aggregate(of, f, columns)) for key, f in self.compiler.selection.below(of, nodes).items()]
        return self._correlate(select(json_object(pairs)).select_from(alias).where(condition)).scalar_subquery()

    def _aggregate(self, of: GraphQLObjectType, nodes: list[FieldNode], columns: Any) -> ColumnElement[Any]:
        name = nodes[0].name.value
        if name == "__typename":
            return word(of.name)
        if name == "count":
            return func.count()
        column = columns[self.mapping.aggregates[name]]
        inner = get_named_type(of.fields[name].type)
        assert isinstance(inner, GraphQLObjectType)
        pairs = []
        for key, field in self.compiler.selection.below(inner, nodes).items():
            pairs.append((key, self._figure(inner, field[0], column)))
        return json_object(pairs)

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
        share = arguments_of(of.fields["percentile"], node, self.compiler.variables)["p"]
        return func.percentile_cont(self.compiler.parameters.add(share, Double(), _share)).within_group(column)

    def _grouped(self, nodes: list[FieldNode]) -> ColumnElement[Any]:
        definition = self.of.fields["groupedAggregates"]
        arguments = arguments_of(definition, nodes[0], self.compiler.variables)
        chosen = [member.value for member in arguments["groupBy"]]
        self._check_groups(chosen)
        of = get_named_type(definition.type)
        assert isinstance(of, GraphQLObjectType)
        alias, columns, condition = self._filtered()
        keys = {name: self._group_expression(name, columns) for name in chosen}
        pairs = []
        for key, field in self.compiler.selection.below(of, nodes).items():
            made = (
                self._group_key(of, field, keys)
                if field[0].name.value == "key"
                else self._aggregate(of, field, columns)
            )
            pairs.append((key, made))
        size = self.compiler.parameters.add(arguments["first"], Integer(), _group_count)
        statement = (
            select(json_object(pairs).label("item"))
            .select_from(alias)
            .where(condition)
            .group_by(*keys.values())
            .order_by(func.count().desc(), *keys.values())
            .limit(size)
        )
        having = arguments.get("having") or {}
        if having.get("count"):
            kind = comparable(_COUNT, None)
            statement = statement.having(*compare(func.count(), having["count"], kind, self.compiler.parameters.add))
        groups = self._correlate(statement).subquery()
        return select(json_list(groups.c.item)).scalar_subquery()

    def _check_groups(self, chosen: list[str]) -> None:
        if not 1 <= len(chosen) <= MOST_GROUP_BY:
            raise InvalidArgument("groupBy", f"takes 1 to {MOST_GROUP_BY} ways to group, not {len(chosen)}")
        for name in chosen:
            if chosen.count(name) > 1:
                raise InvalidArgument("groupBy", f"names {name} twice")

    def _group_expression(self, name: str, columns: Any) -> ColumnElement[Any]:
        group = self.mapping.groups[name]
        column = columns[group.column]
        return func.date_trunc(word(group.bucket), column) if group.bucket else column

    def _group_key(
        self, of: GraphQLObjectType, nodes: list[FieldNode], keys: dict[str, ColumnElement[Any]]
    ) -> ColumnElement[Any]:
        key_type = get_named_type(of.fields["key"].type)
        assert isinstance(key_type, GraphQLObjectType)
        by_field = {self.mapping.groups[name].key: expression for name, expression in keys.items()}
        pairs: Pairs = []
        for response, field in self.compiler.selection.below(key_type, nodes).items():
            name = field[0].name.value
            if name == "__typename":
                pairs.append((response, word(key_type.name)))
                continue
            definition = key_type.fields[name]
            expression = by_field.get(definition.extensions["strawberry-definition"].python_name)
            prefix = self.mapping.prefixes.get(name)
            pairs.append((response, null() if expression is None else rendered(expression, definition.type, prefix)))
        return json_object(pairs)


def _share(value: float) -> float:
    if not 0 <= value <= 1:
        raise InvalidArgument("p", f"must be 0 to 1, not {value}")
    return value


def _group_count(value: int) -> int:
    if not 1 <= value <= MOST_GROUPS:
        raise InvalidArgument("first", f"must be 1 to {MOST_GROUPS}, not {value}")
    return value


def _is_exact(sql_type: Any) -> bool:
    return isinstance(sql_type, Uuid) or hasattr(sql_type, "timezone")


_COUNT = Column("count", Integer, nullable=False)
