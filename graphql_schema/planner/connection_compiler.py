"""Turns one connection field into SQL: the page and its cursors. Its filter and figures have files of their own."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from graphql import FieldNode, GraphQLObjectType, get_named_type
from sqlalchemy import ColumnElement, FromClause, Integer, Select, Text, and_, func, literal_column, select, true
from sqlalchemy.dialects.postgresql import ARRAY, aggregate_order_by

from graphql_schema.planner.arguments import Bind, Symbol, Variables, constant
from graphql_schema.planner.comparisons import may_be_null
from graphql_schema.planner.connections import ConnectionMap, Direction
from graphql_schema.planner.cost import Cost, Times
from graphql_schema.planner.errors import InvalidArgument, NotPlanned
from graphql_schema.planner.figure_compiler import FigureCompiler
from graphql_schema.planner.filter_compiler import FilterCompiler
from graphql_schema.planner.keyset import DEFAULT_ROWS, MOST_ROWS, Key, Order
from graphql_schema.planner.mapping import Many
from graphql_schema.planner.selection import Selected
from graphql_schema.planner.sql import ONE_ROW, Pairs, json_list, json_object, word

if TYPE_CHECKING:
    from graphql_schema.planner.compiler import Compiler

MOST_ORDER = 5
_PAGED = {"nodes", "edges", "pageInfo"}


class ConnectionCompiler:
    """One connection of one row: `row` and `source` are the row outside, None at the root."""

    def __init__(
        self,
        compiler: Compiler,
        mapping: ConnectionMap,
        of: GraphQLObjectType,
        arguments: dict[str, Symbol],
        plan: Many,
        row: Any,
        source: FromClause | None,
    ) -> None:
        self.compiler, self.mapping, self.of, self.arguments = compiler, mapping, of, arguments
        self.plan, self.row, self.source = plan, row, source
        _check_directions(arguments)
        self.backward = arguments.get("last") is not None
        self.size: Bind = arguments.get("last" if self.backward else "first") or constant(DEFAULT_ROWS)
        self.check_size = page_size("last" if self.backward else "first")
        self._text_cost = 0

    def compile(self, nodes: list[FieldNode], cost: Cost) -> ColumnElement[Any]:
        selected = self.compiler.selection.below(self.of, nodes)
        names = {field[0].name.value for field in selected.values()}
        paged = not names.isdisjoint(_PAGED)
        page_cost = cost.add(own=1, times=_rows(self.size, self.check_size, paged=paged), each=1)
        self.one_more = self._needs_more(selected)
        # Without pageInfo a forward page is already in order: the rows need no numbers.
        self.placed = self.backward or "pageInfo" in names
        page = self._page() if paged else None
        pairs: Pairs = [(key, self._member(field, page, page_cost, cost)) for key, field in selected.items()]
        cost.add(own=self._text_cost)
        if self.compiler.feed:
            pairs.append(("$type", word(self.of.name)))
        statement = select(json_object(pairs))
        if page is not None:
            statement = statement.select_from(page).having(ONE_ROW)
        return statement.scalar_subquery()

    def rows(self, nodes: list[FieldNode], cost: Cost) -> Select[Any]:
        """The page as rows of cursor and node. Its size is the server's own and may exceed a client's."""
        self.one_more = self.placed = False
        self.check_size = int
        page = self._page()
        cost.own += self._text_cost
        body = self._node_object(nodes, page, cost)
        return select(page.c["$cursor"].label("cursor"), body.label("body")).select_from(page)

    def _needs_more(self, selected: Selected) -> bool:
        """Whether one row past the page must be looked for."""
        wanted = "hasPreviousPage" if self.backward else "hasNextPage"
        return any(
            inner[0].name.value == wanted
            for field in selected.values()
            if field[0].name.value == "pageInfo"
            for inner in self.compiler.selection.below(self._object_type("pageInfo"), field).values()
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
                return self._figures().total_count()
            case "aggregates":
                return self._figures().aggregates(self._object_type("aggregates"), nodes, cost)
            case "groupedAggregates":
                return self._figures().grouped(self.of, nodes, cost)
        raise NotPlanned

    def _figures(self) -> FigureCompiler:
        return FigureCompiler(self.compiler, self.mapping, self._filtered, self._correlate)

    def _filtered(self) -> tuple[FromClause, Any, ColumnElement[bool]]:
        """A fresh alias and the conditions of this connection: team, relation, filter."""
        _, alias, columns, scope = self.compiler.child(self.mapping.node)
        conditions = [scope]
        if self.plan.on is not None:
            conditions.append(self.plan.on(self.row, columns))
        where = self.arguments.get("where")
        if where:
            compiler = self.compiler
            filters = FilterCompiler(self.mapping, columns, compiler.parameters.add, compiler.size, compiler.child)
            conditions.append(filters.compile(where))
            self._text_cost += filters.cost
        return alias, columns, and_(*conditions)

    def _correlate(self, statement: Select[Any]) -> Select[Any]:
        return statement.correlate(self.source) if self.source is not None else statement

    # The page

    def _order(self, columns: Any) -> Order:
        parts = self.arguments.get("orderBy") or []
        if len(parts) > MOST_ORDER:
            raise InvalidArgument("orderBy", f"takes at most {MOST_ORDER} parts, not {len(parts)}")
        keys: list[Key] = []
        for part in parts:
            name = self.mapping.orders[part["field"].value]
            if any(key.name == name for key in keys):
                raise InvalidArgument("orderBy", f"names {part['field'].value} twice")
            descending = part["direction"] is Direction.DESC
            keys.append(Key(name, columns[name], descending, may_be_null(columns[name])))
        if not parts and self.mapping.default_order:
            keys.append(Key(self.mapping.default_order, columns[self.mapping.default_order], False, False))
        keys.append(Key("id", columns.id, keys[-1].descending if keys else False, False))
        return Order(tuple(keys))

    def _page(self) -> Any:
        alias, columns, condition = self._filtered()
        order = self._order(columns)
        cursor = self.arguments.get("before" if self.backward else "after")
        if cursor is not None:
            values = [self._cursor_value(cursor, order, at) for at in range(len(order.keys))]
            condition = and_(condition, order.beyond(values, backward=self.backward))
        self._size = self.compiler.parameters.add(self.size, Integer(), self.check_size)
        clauses = order.clauses(backward=self.backward)
        more = [order.cursor().label("$cursor")]
        if self.placed:
            more.append(func.row_number().over(order_by=clauses).label("$place"))
        rows = select(alias, *more).where(condition).order_by(*clauses)
        return self._correlate(rows.limit(self._size + 1 if self.one_more else self._size)).subquery()

    def _cursor_value(self, cursor: Bind, order: Order, at: int) -> ColumnElement[Any]:
        return self.compiler.parameters.add(cursor, order.keys[at].sql_type, order.reader(at))

    def _items(self, item: ColumnElement[Any], page: Any) -> ColumnElement[Any]:
        if not self.placed:
            return json_list(item)
        place = page.c["$place"]
        made: Any = func.json_agg(aggregate_order_by(item, place.desc() if self.backward else place))
        if self.one_more:
            made = made.filter(place <= self._size)
        return func.coalesce(made, literal_column("'[]'::json"))

    def _node_object(self, nodes: list[FieldNode], page: Any, cost: Cost) -> ColumnElement[Any]:
        of = self.compiler.schema.type_map[self.mapping.node]
        assert isinstance(of, GraphQLObjectType)
        return self.compiler.object(of, nodes, page.c, page, cost)

    def _edge(self, nodes: list[FieldNode], page: Any, cost: Cost) -> ColumnElement[Any]:
        edge = self._object_type("edges")
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
        more = func.count() > self._size
        is_started = self.arguments.get("before" if self.backward else "after") is not None
        started: ColumnElement[Any] = literal_column("true" if is_started else "false")
        nearest, farthest = self._ends(page)
        values: dict[str, ColumnElement[Any]] = {
            "__typename": word("PageInfo"),
            "hasNextPage": started if self.backward else more,
            "hasPreviousPage": more if self.backward else started,
            "startCursor": farthest if self.backward else nearest,
            "endCursor": nearest if self.backward else farthest,
        }
        selected = self.compiler.selection.below(self._object_type("pageInfo"), nodes)
        return json_object([(key, values[field[0].name.value]) for key, field in selected.items()])

    def _ends(self, page: Any) -> tuple[ColumnElement[Any], ColumnElement[Any]]:
        """The cursors of the page's rows that were read first and last."""
        place, cursor = page.c["$place"], page.c["$cursor"]
        limit = place <= self._size if self.one_more else true()
        ordered: Any = func.array_agg(aggregate_order_by(cursor, place.desc()), type_=ARRAY(Text()))
        return func.max(cursor).filter(place == 1), ordered.filter(limit).self_group()[1]

    def _object_type(self, field: str) -> GraphQLObjectType:
        named = get_named_type(self.of.fields[field].type)
        assert isinstance(named, GraphQLObjectType)
        return named


def page_size(argument: str) -> Callable[[int], int]:
    def check(value: int) -> int:
        if not 1 <= value <= MOST_ROWS:
            raise InvalidArgument(argument, f"must be 1 to {MOST_ROWS}, not {value}")
        return value

    return check


def _rows(size: Bind, check: Callable[[int], int], *, paged: bool) -> Times:
    """How many rows the page may have. A size out of bounds is refused also where no page is asked for."""

    def rows(variables: Variables) -> int:
        checked = check(size.read(variables))
        return checked if paged else 0

    return rows


def _check_directions(arguments: dict[str, Symbol]) -> None:
    first, last = arguments.get("first"), arguments.get("last")
    if first is not None and last is not None:
        raise InvalidArgument("last", "give first or last, not both")
    if last is None and arguments.get("before") is not None:
        raise InvalidArgument("before", "goes with last; to read on, use first and after")
    if last is not None and arguments.get("after") is not None:
        raise InvalidArgument("after", "goes with first; to read back, use last and before")
