"""The GraphQL types around a mapped type, made from its columns: connection, filter, order, aggregates, groups."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any

import strawberry
from sqlalchemy import Column as SqlColumn
from sqlalchemy import ColumnElement, FromClause
from strawberry.types.base import get_object_definition
from strawberry.utils.str_converters import to_camel_case

from app.auth.roles import Permission
from app.ids import Prefix
from graphql_schema.planner.comparisons import Comparable, comparable
from graphql_schema.planner.figures import Aggregate, kind_of
from graphql_schema.planner.grouping import Group, GroupOrder, group_orders, grouped_field, grouping, ways_to_group
from graphql_schema.planner.keyset import DEFAULT_ROWS, MOST_ROWS
from graphql_schema.planner.list_filters import ListFilter, ListFilters, list_filters, list_members
from graphql_schema.planner.mapping import (
    MAPS,
    PLAN,
    Column,
    Embedded,
    Many,
    One,
    described,
    lazily,
    listed,
    optional,
    planned_field,
)
from graphql_schema.publish_enum import publish_enum
from graphql_schema.scalars import Cursor

COUNT_BOUND = 10_000
UNSET = strawberry.UNSET
Members = dict[str, tuple[Any, Any]]  # python name → annotation and strawberry field


@dataclass(frozen=True, slots=True)
class ConnectionMap:
    """What the compiler needs to know of a connection, keyed by GraphQL names."""

    node: str
    filters: dict[str, tuple[str, Comparable]]
    orders: dict[str, str]
    groups: dict[str, Group]
    group_orders: dict[str, GroupOrder]
    aggregates: dict[str, Aggregate]
    prefixes: dict[str, Prefix]  # of group keys that are ids
    default_order: str | None = None  # a column before the id, which alone is the order of creation
    lists: dict[str, ListFilter] = field(default_factory=dict)


CONNECTIONS: dict[str, ConnectionMap] = {}
VIRTUAL: set[str] = {"PageInfo", "NumberAggregate", "TimeAggregate", "BooleanAggregate"}


class Direction(Enum):
    ASC = "asc"
    DESC = "desc"


publish_enum(
    Direction,
    "Which way an order goes. Nulls stand last either way.",
    {Direction.ASC: "Smallest, earliest or A first.", Direction.DESC: "Largest, latest or Z first."},
)


@strawberry.type(description="Where a page lies in its list.")
class PageInfo:
    has_next_page: bool = strawberry.field(description="Whether more items follow this page.")
    has_previous_page: bool = strawberry.field(description="Whether items stand before this page.")
    start_cursor: Cursor | None = strawberry.field(description="Cursor of the first item; null on an empty page.")
    end_cursor: Cursor | None = strawberry.field(description="Cursor of the last item; null on an empty page.")


def publish_connection(cls: type, *, default_order: str | None = None, words: Mapping[str, str] | None = None) -> None:
    """Make the connection types of a mapped type and put them beside it in its module.

    `default_order` names a non-null column to order by before the id, where the order of creation is not the one.
    `words` describes columns of a text's words (tsvector), which can be filtered by and are not shown.
    """
    definition = get_object_definition(cls, strict=True)
    name, module, table = definition.name, sys.modules[cls.__module__], MAPS[definition.name].table
    assert table is not None
    columns = _planned_columns(cls, table, MAPS[name].prefix)
    rows: Any = table.c
    for word_column, description in (words or {}).items():
        columns[word_column] = (Column(filter=True), rows[word_column], description)
    plans = {declared.python_name: declared.metadata.get(PLAN) for declared in definition.fields}
    links = {python: plan for python, plan in plans.items() if isinstance(plan, One)}
    parts = Parts(name, cls.__module__, columns, links)
    parts.lists = list_filters(cls)
    for made in parts.make():
        setattr(module, made.__name__, made)
    lists = {to_camel_case(python): found for python, (found, _) in parts.lists.items()}
    CONNECTIONS[f"{name}Connection"] = replace(parts.map(), default_order=default_order, lists=lists)


def many(
    type_name: str,
    module: str,
    description: str,
    *,
    on: Callable[..., ColumnElement[bool]] | None = None,
    needs: Permission | None = None,
    filter: bool = False,
) -> Any:
    """A connection field over a mapped type, with its filter, order and pages.

    With `filter` the row can be found by what the connection's items are: `{candidates: {some: {…}}}`.
    """
    arguments = {
        "first": (
            described(int | None, f"How many from the start, 1 to {MOST_ROWS}; {DEFAULT_ROWS} by default."),
            UNSET,
        ),
        "after": (described(Cursor | None, "Only items behind this cursor."), UNSET),
        "last": (described(int | None, f"How many from the end, 1 to {MOST_ROWS}; not together with first."), UNSET),
        "before": (described(Cursor | None, "Only items in front of this cursor; goes with last."), UNSET),
        "where": (described(lazily(f"{type_name}Filter", module) | None, "Which items; all by default."), UNSET),
        "order_by": (
            described(listed(lazily(f"{type_name}Order", module)) | None, "Order; by creation by default."),
            UNSET,
        ),
    }
    returned = lazily(f"{type_name}Connection", module)
    return planned_field(returned, arguments, description, Many(on, needs, filter))


Columns = dict[str, tuple[Column, SqlColumn[Any], str]]


def _planned_columns(cls: type, table: FromClause, prefix: Prefix | None) -> Columns:
    """Python name → declaration, column and description of every field that is a column.

    Those of an embedded object stand under its name: `traits_humor`.
    """
    found: Columns = {}
    columns: Any = table.c
    for declared_field in get_object_definition(cls, strict=True).fields:
        plan, python = declared_field.metadata.get(PLAN), declared_field.python_name
        if isinstance(plan, Embedded):
            inner = _planned_columns(declared_field.type, table, None)  # type: ignore[arg-type]
            found |= {f"{python}_{name}": declared for name, declared in inner.items()}
        if isinstance(plan, Column):
            plan = replace(plan, prefix=prefix) if python == "id" else plan
            found[python] = (plan, columns[plan.name or python], declared_field.description or "")
    return found


class Parts:
    """The types around one mapped type, while they are being made."""

    def __init__(self, name: str, module: str, columns: Columns, links: dict[str, One]) -> None:
        self.name, self.module, self.columns = name, module, columns
        self.lists: ListFilters = {}
        self.filters = {
            python: (column.name, comparable(column, plan.prefix))
            for python, (plan, column, _) in columns.items()
            if plan.filter
        }
        self.orders = {python.upper(): column.name for python, (plan, column, _) in columns.items() if plan.order}
        self.groups = ways_to_group(columns, links)
        self.aggregates = {python: column for python, (plan, column, _) in columns.items() if plan.aggregate}

    def map(self) -> ConnectionMap:
        return ConnectionMap(
            node=self.name,
            filters={to_camel_case(python): entry for python, entry in self.filters.items()},
            orders=self.orders,
            groups=self.groups,
            group_orders=group_orders(self),
            aggregates={
                to_camel_case(python): Aggregate(column.name, kind_of(column))
                for python, column in self.aggregates.items()
            },
            prefixes={
                to_camel_case(python): plan.prefix for python, (plan, _, _) in self.columns.items() if plan.prefix
            },
        )

    def make(self) -> list[type]:
        made = [self._filter(), *self._order(), self._aggregates(), self._edge(), self._connection()]
        return made + grouping(self) if self.groups else made

    def make_type(self, suffix: str, members: Members, description: str, **extra: Any) -> type:
        VIRTUAL.add(self.name + suffix)
        return strawberry.type(self._body(suffix, members, extra), description=description)

    def make_input(self, suffix: str, members: Members, description: str) -> type:
        return strawberry.input(self._body(suffix, members, {}), description=description)

    def _body(self, suffix: str, members: Members, extra: dict[str, Any]) -> type:
        body: dict[str, Any] = {python: value for python, (_, value) in members.items()} | extra
        body["__annotations__"] = {python: annotation for python, (annotation, _) in members.items()}
        return type(self.name + suffix, (), body | {"__module__": self.module})

    def make_enum(self, suffix: str, members: dict[str, str], description: str) -> type:
        kind = Enum(self.name + suffix, {member: member for member in members}, module=self.module)  # type: ignore[misc]
        strawberry.enum(kind, description=description)
        for value in kind.__strawberry_definition__.values:  # type: ignore[attr-defined]
            value.description = members[value.name]
        return kind

    def lazy(self, suffix: str) -> Any:
        return lazily(self.name + suffix, self.module)

    def logic_members(self, suffix: str) -> Members:
        own = self.lazy(suffix)
        return {
            "and_": (listed(own) | None, optional("and", "All of these hold.")),
            "or_": (listed(own) | None, optional("or", "At least one of these holds.")),
            "not_": (own | None, optional("not", "This does not hold.")),
        }

    def order_members(self, field: type) -> Members:
        return {
            "field": (field, strawberry.field(description="What to order by.")),
            "direction": (Direction, strawberry.field(default=Direction.ASC, description="Which way.")),
        }

    def _filter(self) -> type:
        members: Members = {
            python: (kind.comparison | None, strawberry.field(default=UNSET, description=self.columns[python][2]))
            for python, (_, kind) in self.filters.items()
        }
        members |= list_members(self.name, self.module, self.lists)
        members |= self.logic_members("Filter")
        return self.make_input("Filter", members, f"Which {self.name} items to take; all given conditions must hold.")

    def _order(self) -> list[type]:
        texts = {member: f"By {member.lower().replace('_', ' ')}." for member in self.orders}
        field = self.make_enum("OrderField", texts, f"What {self.name} items can be ordered by.")
        text = f"One part of an order of {self.name} items."
        return [field, self.make_input("Order", self.order_members(field), text)]

    def aggregate_members(self) -> Members:
        members: Members = {"count": (int, strawberry.field(description="How many items."))}
        for python, column in self.aggregates.items():
            members[python] = (kind_of(column).answer, strawberry.field(description=self.columns[python][2]))
        return members

    def _aggregates(self) -> type:
        return self.make_type(
            "Aggregates", self.aggregate_members(), f"Aggregates over all filtered {self.name} items."
        )

    def _edge(self) -> type:
        members = {
            "cursor": (Cursor, strawberry.field(description="The item's place in this list.")),
            "node": (self.lazy(""), strawberry.field(description="The item.")),
        }
        return self.make_type("Edge", members, f"A {self.name} in a list.")

    def _connection(self) -> type:
        items = f"How many items the filter matches, exact up to {COUNT_BOUND}; {COUNT_BOUND + 1} means more."
        members: Members = {
            "nodes": (listed(self.lazy("")), strawberry.field(description="The items of this page.")),
            "edges": (listed(self.lazy("Edge")), strawberry.field(description="The items with their cursors.")),
            "page_info": (PageInfo, strawberry.field(description="Where this page lies.")),
            "total_count": (int, strawberry.field(description=items)),
            "aggregates": (self.lazy("Aggregates"), strawberry.field(description="Over all that the filter matches.")),
        }
        description = f"A page of {self.name} items, and figures over all that the filter matches."
        grouped = {"grouped_aggregates": grouped_field(self)} if self.groups else {}
        return self.make_type("Connection", members, description, **grouped)


__all__ = ["CONNECTIONS", "PageInfo", "many", "publish_connection"]
