"""The GraphQL types around a mapped type, made from its columns: connection, filter, order, aggregates, groups."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Annotated, Any

import strawberry
from sqlalchemy import Column as SqlColumn
from sqlalchemy import ColumnElement, DateTime, FromClause, Numeric, Uuid
from sqlalchemy import Enum as SqlEnum
from sqlalchemy.types import BigInteger, Float, Integer
from strawberry.types.base import get_object_definition
from strawberry.utils.str_converters import to_camel_case

from app.auth.roles import Permission
from app.ids import Prefix
from graphql_schema.planner.comparisons import Comparable, IntComparison, comparable
from graphql_schema.planner.keyset import DEFAULT_ROWS, MOST_ROWS
from graphql_schema.planner.list_filters import ListFilter, ListFilters, list_filters, list_members
from graphql_schema.planner.mapping import MAPS, PLAN, Column, Embedded, Many, lazily, listed, planned_field
from graphql_schema.publish_enum import publish_enum
from graphql_schema.scalars import Cursor
from graphql_schema.scalars import DateTime as DateTimeScalar

COUNT_BOUND = 10_000
MOST_GROUPS = 1_000
BUCKETS = ("hour", "day", "week", "month")
UNSET = strawberry.UNSET
Members = dict[str, tuple[Any, Any]]  # python name → annotation and strawberry field


@dataclass(frozen=True, slots=True)
class Group:
    """One way to group: a column, or a time column cut to a bucket."""

    key: str  # field of the group's key type
    column: str
    bucket: str | None


@dataclass(frozen=True, slots=True)
class ConnectionMap:
    """What the compiler needs to know of a connection, keyed by GraphQL names."""

    node: str
    filters: dict[str, tuple[str, Comparable]]
    orders: dict[str, str]
    groups: dict[str, Group]
    aggregates: dict[str, str]
    prefixes: dict[str, Prefix]  # of group keys that are ids
    default_order: str | None = None  # a column before the id, which alone is the order of creation
    lists: dict[str, ListFilter] = field(default_factory=dict)


CONNECTIONS: dict[str, ConnectionMap] = {}
VIRTUAL: set[str] = {"PageInfo", "NumberAggregate", "TimeAggregate"}


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


@strawberry.type(description="Aggregates of a number over the filtered items; each is null when no item has a value.")
class NumberAggregate:
    min: float | None = strawberry.field(description="Smallest value.")
    max: float | None = strawberry.field(description="Largest value.")
    sum: float | None = strawberry.field(description="Sum of the values.")
    mean: float | None = strawberry.field(description="Arithmetic mean.")

    @strawberry.field(description="The value that this share of the items does not exceed, interpolated.")  # type: ignore[untyped-decorator]
    def percentile(
        self, p: Annotated[float, strawberry.argument(description="The share, 0 to 1: 0.5 is the median.")]
    ) -> float | None:
        raise AssertionError("planned fields are answered by SQL")


@strawberry.type(description="Aggregates of a time over the filtered items; null when no item has a value.")
class TimeAggregate:
    min: DateTimeScalar | None = strawberry.field(description="Earliest time.")
    max: DateTimeScalar | None = strawberry.field(description="Latest time.")


def publish_connection(cls: type, *, default_order: str | None = None) -> None:
    """Make the connection types of a mapped type and put them beside it in its module.

    `default_order` names a non-null column to order by before the id, where the order of creation is not the one.
    """
    definition = get_object_definition(cls, strict=True)
    name, module, table = definition.name, sys.modules[cls.__module__], MAPS[definition.name].table
    assert table is not None
    columns = _planned_columns(cls, table, MAPS[name].prefix)
    parts = _Parts(name, cls.__module__, columns)
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
            _argument(int | None, f"How many from the start, 1 to {MOST_ROWS}; {DEFAULT_ROWS} by default."),
            UNSET,
        ),
        "after": (_argument(Cursor | None, "Only items behind this cursor."), UNSET),
        "last": (_argument(int | None, f"How many from the end, 1 to {MOST_ROWS}; not together with first."), UNSET),
        "before": (_argument(Cursor | None, "Only items in front of this cursor; goes with last."), UNSET),
        "where": (_argument(lazily(f"{type_name}Filter", module) | None, "Which items; all by default."), UNSET),
        "order_by": (
            _argument(listed(lazily(f"{type_name}Order", module)) | None, "Order; by creation by default."),
            UNSET,
        ),
    }
    returned = lazily(f"{type_name}Connection", module)
    return planned_field(returned, arguments, description, Many(on, needs, filter))


def _argument(annotation: Any, description: str) -> Any:
    return Annotated[annotation, strawberry.argument(description=description)]


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


class _Parts:
    """The types around one mapped type, while they are being made."""

    def __init__(self, name: str, module: str, columns: Columns) -> None:
        self.name, self.module, self.columns = name, module, columns
        self.lists: ListFilters = {}
        self.filters = {
            python: (column.name, comparable(column, plan.prefix))
            for python, (plan, column, _) in columns.items()
            if plan.filter
        }
        self.orders = {python.upper(): column.name for python, (plan, column, _) in columns.items() if plan.order}
        self.groups = self._groups()
        self.aggregates = {python: column for python, (plan, column, _) in columns.items() if plan.aggregate}

    def map(self) -> ConnectionMap:
        return ConnectionMap(
            node=self.name,
            filters={to_camel_case(python): entry for python, entry in self.filters.items()},
            orders=self.orders,
            groups=self.groups,
            aggregates={to_camel_case(python): column.name for python, column in self.aggregates.items()},
            prefixes={
                to_camel_case(python): plan.prefix for python, (plan, _, _) in self.columns.items() if plan.prefix
            },
        )

    def make(self) -> list[type]:
        made = [self._filter(), *self._order(), self._aggregates(), self._edge(), self._connection()]
        return made + self._grouping() if self.groups else made

    def _type(self, suffix: str, members: Members, description: str, **extra: Any) -> type:
        VIRTUAL.add(self.name + suffix)
        return strawberry.type(self._body(suffix, members, extra), description=description)

    def _input(self, suffix: str, members: Members, description: str) -> type:
        return strawberry.input(self._body(suffix, members, {}), description=description)

    def _body(self, suffix: str, members: Members, extra: dict[str, Any]) -> type:
        body: dict[str, Any] = {python: value for python, (_, value) in members.items()} | extra
        body["__annotations__"] = {python: annotation for python, (annotation, _) in members.items()}
        return type(self.name + suffix, (), body | {"__module__": self.module})

    def _enum(self, suffix: str, members: dict[str, str], description: str) -> type:
        kind = Enum(self.name + suffix, {member: member for member in members}, module=self.module)  # type: ignore[misc]
        strawberry.enum(kind, description=description)
        for value in kind.__strawberry_definition__.values:  # type: ignore[attr-defined]
            value.description = members[value.name]
        return kind

    def _lazy(self, suffix: str) -> Any:
        return lazily(self.name + suffix, self.module)

    def _filter(self) -> type:
        members: Members = {
            python: (kind.comparison | None, strawberry.field(default=UNSET, description=self.columns[python][2]))
            for python, (_, kind) in self.filters.items()
        }
        members |= list_members(self.name, self.module, self.lists)
        own = self._lazy("Filter")
        members["and_"] = (listed(own) | None, _input_field("and", "All of these hold."))
        members["or_"] = (listed(own) | None, _input_field("or", "At least one of these holds."))
        members["not_"] = (own | None, _input_field("not", "This does not hold."))
        return self._input("Filter", members, f"Which {self.name} items to take; all given conditions must hold.")

    def _order(self) -> list[type]:
        texts = {member: f"By {member.lower().replace('_', ' ')}." for member in self.orders}
        field = self._enum("OrderField", texts, f"What {self.name} items can be ordered by.")
        members = {
            "field": (field, strawberry.field(description="What to order by.")),
            "direction": (Direction, strawberry.field(default=Direction.ASC, description="Which way.")),
        }
        return [field, self._input("Order", members, f"One part of an order of {self.name} items.")]

    def _aggregate_members(self) -> Members:
        members: Members = {"count": (int, strawberry.field(description="How many items."))}
        for python, column in self.aggregates.items():
            kind = TimeAggregate if isinstance(column.type, DateTime) else NumberAggregate
            members[python] = (kind, strawberry.field(description=self.columns[python][2]))
        return members

    def _aggregates(self) -> type:
        return self._type("Aggregates", self._aggregate_members(), f"Aggregates over all filtered {self.name} items.")

    def _groups(self) -> dict[str, Group]:
        found = {}
        for python, (plan, column, _) in self.columns.items():
            if not plan.group:
                continue
            if isinstance(column.type, DateTime):
                for bucket in BUCKETS:
                    found[f"{python.upper()}_{bucket.upper()}"] = Group(f"{python}_{bucket}", column.name, bucket)
            else:
                found[python.upper()] = Group(python, column.name, None)
        return found

    def _grouping(self) -> list[type]:
        texts = {member: f"One group for each {group.key.replace('_', ' ')}." for member, group in self.groups.items()}
        by = self._enum("GroupBy", texts, f"What {self.name} items can be grouped by.")
        keys = {
            group.key: (
                self._key_type(group) | None,
                strawberry.field(description="Null when not grouped by it, or when the items have no value."),
            )
            for group in self.groups.values()
        }
        key = self._type("GroupKey", keys, f"What the {self.name} items of a group have in common.")
        members = {"key": (key, strawberry.field(description="What they have in common."))} | self._aggregate_members()
        group = self._type("Group", members, f"A group of {self.name} items and its aggregates.")
        having = {"count": (IntComparison | None, _input_field("count", "On the number of items."))}
        limits = self._input("GroupHaving", having, "Which groups to take; all given conditions must hold.")
        return [by, key, group, limits]

    def _key_type(self, group: Group) -> Any:
        column = next(column for _, column, _ in self.columns.values() if column.name == group.column)
        if isinstance(column.type, DateTime):
            return DateTimeScalar
        if isinstance(column.type, SqlEnum):
            return column.type.enum_class
        if isinstance(column.type, Uuid):
            return strawberry.ID
        if isinstance(column.type, BigInteger | Float | Numeric):
            return float  # GraphQL's Int has 32 bits
        return int if isinstance(column.type, Integer) else str

    def _edge(self) -> type:
        members = {
            "cursor": (Cursor, strawberry.field(description="The item's place in this list.")),
            "node": (self._lazy(""), strawberry.field(description="The item.")),
        }
        return self._type("Edge", members, f"A {self.name} in a list.")

    def _connection(self) -> type:
        items = f"How many items the filter matches, exact up to {COUNT_BOUND}; {COUNT_BOUND + 1} means more."
        members: Members = {
            "nodes": (listed(self._lazy("")), strawberry.field(description="The items of this page.")),
            "edges": (listed(self._lazy("Edge")), strawberry.field(description="The items with their cursors.")),
            "page_info": (PageInfo, strawberry.field(description="Where this page lies.")),
            "total_count": (int, strawberry.field(description=items)),
            "aggregates": (self._lazy("Aggregates"), strawberry.field(description="Over all that the filter matches.")),
        }
        description = f"A page of {self.name} items, and figures over all that the filter matches."
        grouped = {"grouped_aggregates": self._grouped_field()} if self.groups else {}
        return self._type("Connection", members, description, **grouped)

    def _grouped_field(self) -> Any:
        arguments = {
            "group_by": _argument(listed(self._lazy("GroupBy")), "One to five ways to group, each once."),
            "having": (_argument(self._lazy("GroupHaving") | None, "Which groups; all by default."), UNSET),
            "first": (_argument(int, f"How many groups, 1 to {MOST_GROUPS}."), DEFAULT_ROWS),
        }
        description = "All that the filter matches, in groups, largest group first."
        return planned_field(listed(self._lazy("Group")), arguments, description, None)


def _input_field(name: str, description: str) -> Any:
    return strawberry.field(name=name, default=UNSET, description=description)


__all__ = ["CONNECTIONS", "PageInfo", "many", "publish_connection"]
