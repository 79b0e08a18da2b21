"""The GraphQL types of a connection's groups, made from its columns: ways to group, keys, conditions and orders."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import strawberry
from sqlalchemy import BigInteger, Boolean, DateTime, Float, Integer, Numeric, Uuid
from sqlalchemy import Column as SqlColumn
from sqlalchemy import Enum as SqlEnum
from strawberry.utils.str_converters import to_camel_case, to_snake_case

from graphql_schema.planner.comparisons import FloatComparison, IntComparison
from graphql_schema.planner.figures import COUNT, PERCENTILE, SHARE_OF_COUNT, kind_of
from graphql_schema.planner.keyset import DEFAULT_ROWS
from graphql_schema.planner.mapping import PLAN, One, described, listed, optional, planned_field
from graphql_schema.scalars import DateTime as DateTimeScalar

if TYPE_CHECKING:
    from graphql_schema.planner.connections import Columns, Members, Parts

MOST_GROUPS = 1_000
MOST_GROUP_BY = 5
MOST_GROUP_ORDER = 5
BUCKETS = ("hour", "day", "week", "month")
UNSET = strawberry.UNSET


@dataclass(frozen=True, slots=True)
class Group:
    """One way to group: a column, or a time column cut to a bucket. `link` is the entity that an id column names."""

    key: str  # field of the group's key type
    column: str
    bucket: str | None = None
    link: tuple[str, One] | None = None

    @property
    def label(self) -> str:
        """Its name among the columns of the grouped statement."""
        return f"{self.column}_{self.bucket}" if self.bucket else self.column


@dataclass(frozen=True, slots=True)
class GroupOrder:
    """What groups can be ordered by: a key, or a figure of the group (`aggregate` is None) or of a column."""

    key: str | None
    aggregate: str | None = None
    figure: str = COUNT


def ways_to_group(columns: Columns, links: Mapping[str, One]) -> dict[str, Group]:
    found = {}
    for python, (plan, column, _) in columns.items():
        if not plan.group:
            continue
        if isinstance(column.type, DateTime):
            for bucket in BUCKETS:
                found[f"{python}_{bucket}".upper()] = Group(f"{python}_{bucket}", column.name, bucket)
            continue
        entity = python.removesuffix("_id")
        link = (entity, links[entity]) if entity != python and entity in links else None
        found[(entity if link else python).upper()] = Group(python, column.name, link=link)
    return found


def group_orders(parts: Parts) -> dict[str, GroupOrder]:
    """Every key, the count, the share, and every figure of every column, by the names of an enum's members."""
    found = {member: GroupOrder(member) for member in parts.groups}
    figures = {"COUNT": GroupOrder(None), "SHARE_OF_COUNT": GroupOrder(None, None, SHARE_OF_COUNT)}
    for python, column in parts.aggregates.items():
        for figure in kind_of(column).figures:
            member = f"{python}_{to_snake_case(figure)}".upper()
            figures[member] = GroupOrder(None, to_camel_case(python), figure)
    assert found.keys().isdisjoint(figures), f"{parts.name}: a key is named like a figure"
    return found | figures


def grouping(parts: Parts) -> list[type]:
    texts = {member: f"One group for each {_words(group)}." for member, group in parts.groups.items()}
    by = parts.make_enum("GroupBy", texts, f"What {parts.name} items can be grouped by.")
    key = parts.make_type("GroupKey", _key_members(parts), f"What the {parts.name} items of a group have in common.")
    share = "Which share this group is of all items that the filter matches, 0 to 1."
    members: Members = {
        "key": (key, strawberry.field(description="What they have in common.")),
        "share_of_count": (float, strawberry.field(description=share)),
    } | parts.aggregate_members()
    group = parts.make_type("Group", members, f"A group of {parts.name} items and its figures.")
    return [by, key, group, _groups(parts, group), _having(parts), *_order(parts)]


def _words(group: Group) -> str:
    return (group.link[0] if group.link else group.key).replace("_", " ")


def _key_members(parts: Parts) -> Members:
    text = "Null when not grouped by it, or when the items have no value."
    members: Members = {}
    for group in parts.groups.values():
        members[group.key] = (_key_type(parts, group) | None, strawberry.field(description=text))
        if group.link:
            name, one = group.link
            members[name] = (one.of | None, strawberry.field(description=text, metadata={PLAN: one}))
    return members


def _key_type(parts: Parts, group: Group) -> Any:
    column: SqlColumn[Any] = next(column for _, column, _ in parts.columns.values() if column.name == group.column)
    if isinstance(column.type, SqlEnum):
        return column.type.enum_class
    for kinds, shown in _KEY_TYPES:
        if isinstance(column.type, kinds):
            return shown
    return str


_KEY_TYPES: tuple[tuple[tuple[type, ...], Any], ...] = (
    ((DateTime,), DateTimeScalar),
    ((Boolean,), bool),
    ((Uuid,), strawberry.ID),
    ((BigInteger, Float, Numeric), float),  # GraphQL's Int has 32 bits
    ((Integer,), int),
)


def _groups(parts: Parts, group: type) -> type:
    members: Members = {
        "groups": (listed(group), strawberry.field(description="The groups, at most `first`.")),
        "total_count": (int, strawberry.field(description="How many groups there are, `first` or not.")),
        "has_more": (bool, strawberry.field(description="Whether `first` left groups out.")),
    }
    return parts.make_type("Groups", members, f"{parts.name} items in groups.")


def _having(parts: Parts) -> type:
    members: Members = {
        "count": (IntComparison | None, optional("count", "On the number of items.")),
        "share_of_count": (
            FloatComparison | None,
            optional(SHARE_OF_COUNT, "On the share of all items that the filter matches, 0 to 1."),
        ),
    }
    for python, column in parts.aggregates.items():
        members[python] = (kind_of(column).having | None, optional(to_camel_case(python), parts.columns[python][2]))
    members |= parts.logic_members("GroupHaving")
    return parts.make_input("GroupHaving", members, "Which groups to take; all given conditions must hold.")


def _order(parts: Parts) -> list[type]:
    texts = {member: _order_text(member, order) for member, order in group_orders(parts).items()}
    field = parts.make_enum("GroupOrderField", texts, f"What groups of {parts.name} items can be ordered by.")
    members = parts.order_members(field)
    percentile = "Which percentile, 0 to 1; only for one, and needed there."
    members["p"] = (float | None, optional("p", percentile))
    return [field, parts.make_input("GroupOrder", members, f"One part of an order of groups of {parts.name} items.")]


def _order_text(member: str, order: GroupOrder) -> str:
    words = member.lower().replace("_", " ")
    if order.key:
        return f"By the key {words}; the items must be grouped by it."
    return f"By the {words}, which `p` names." if order.figure == PERCENTILE else f"By the {words}."


def grouped_field(parts: Parts) -> Any:
    arguments = {
        "group_by": described(listed(parts.lazy("GroupBy")), f"One to {MOST_GROUP_BY} ways to group, each once."),
        "having": (described(parts.lazy("GroupHaving") | None, "Which groups; all by default."), UNSET),
        "order_by": (
            described(
                listed(parts.lazy("GroupOrder")) | None,
                f"At most {MOST_GROUP_ORDER} parts; then, as by default, the largest group first, then by key.",
            ),
            UNSET,
        ),
        "first": (described(int, f"How many groups, 1 to {MOST_GROUPS}."), DEFAULT_ROWS),
    }
    description = "All that the filter matches, in groups, largest group first."
    return planned_field(parts.lazy("Groups"), arguments, description, None)
