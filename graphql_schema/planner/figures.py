"""Figures over many rows: which ones a column has, as GraphQL types, as conditions on groups, and as SQL."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import strawberry
from sqlalchemy import Boolean, Column, ColumnElement, DateTime, Double, Integer, cast, func
from sqlalchemy.types import TypeEngine

from graphql_schema.planner.comparisons import (
    Comparable,
    FloatComparison,
    IntComparison,
    MomentComparison,
    PercentileComparison,
    comparable,
)
from graphql_schema.planner.errors import InvalidArgument
from graphql_schema.scalars import DateTime as DateTimeScalar

PERCENTILE = "percentile"
PERCENTILE_COST = 5  # points; each sorts the rows
COUNT, SHARE_OF_COUNT = "count", "shareOfCount"  # of a group, not of one of its columns
_UNSET = strawberry.UNSET


@strawberry.type(description="Figures of a number over the filtered items; each is null when no item has a value.")
class NumberAggregate:
    count: int = strawberry.field(description="How many items have a value.")
    min: float | None = strawberry.field(description="Smallest value.")
    max: float | None = strawberry.field(description="Largest value.")
    sum: float | None = strawberry.field(description="Sum of the values.")
    mean: float | None = strawberry.field(description="Arithmetic mean.")

    @strawberry.field(description="The value that this share of the items does not exceed, interpolated.")  # type: ignore[untyped-decorator]
    def percentile(
        self, p: Annotated[float, strawberry.argument(description="The share, 0 to 1: 0.5 is the median.")]
    ) -> float | None:
        raise AssertionError("planned fields are answered by SQL")


@strawberry.type(description="Figures of a time over the filtered items; null when no item has a value.")
class TimeAggregate:
    count: int = strawberry.field(description="How many items have a value.")
    min: DateTimeScalar | None = strawberry.field(description="Earliest time.")
    max: DateTimeScalar | None = strawberry.field(description="Latest time.")


@strawberry.type(description="Figures of something that is true or false, over the filtered items.")
class BooleanAggregate:
    count: int = strawberry.field(description="How many items have a value.")
    true_count: int = strawberry.field(description="Of how many items it is true.")
    share: float | None = strawberry.field(
        description="Of which share of the items with a value it is true, 0 to 1; null when no item has a value."
    )


def _condition(description: str) -> Any:
    return strawberry.field(default=_UNSET, description=description)


@strawberry.input(description="Conditions on the figures of a number; all given ones must hold.")
class NumberHaving:
    count: IntComparison | None = _condition("On how many items have a value.")  # type: ignore[valid-type]
    min: FloatComparison | None = _condition("On the smallest value.")  # type: ignore[valid-type]
    max: FloatComparison | None = _condition("On the largest value.")  # type: ignore[valid-type]
    sum: FloatComparison | None = _condition("On the sum of the values.")  # type: ignore[valid-type]
    mean: FloatComparison | None = _condition("On the arithmetic mean.")  # type: ignore[valid-type]
    percentile: PercentileComparison | None = _condition("On a percentile.")  # type: ignore[valid-type]


@strawberry.input(description="Conditions on the figures of a time; all given ones must hold.")
class TimeHaving:
    count: IntComparison | None = _condition("On how many items have a value.")  # type: ignore[valid-type]
    min: MomentComparison | None = _condition("On the earliest time.")  # type: ignore[valid-type]
    max: MomentComparison | None = _condition("On the latest time.")  # type: ignore[valid-type]


@strawberry.input(description="Conditions on the figures of something that is true or false; all given ones must hold.")
class BooleanHaving:
    count: IntComparison | None = _condition("On how many items have a value.")  # type: ignore[valid-type]
    true_count: IntComparison | None = _condition("On how many items it is true of.")  # type: ignore[valid-type]
    share: FloatComparison | None = _condition("On the share of true, 0 to 1.")  # type: ignore[valid-type]


def _compared_as(sql_type: TypeEngine[Any]) -> Comparable:
    return comparable(Column("figure", sql_type), None)


_COUNTED, _NUMBER, _TIME = _compared_as(Integer()), _compared_as(Double()), _compared_as(DateTime(timezone=True))


@dataclass(frozen=True, slots=True)
class Kind:
    """The figures of one kind of column, by their GraphQL names, and what each is compared as."""

    answer: type
    having: type
    figures: dict[str, Comparable]


NUMBER = Kind(
    NumberAggregate,
    NumberHaving,
    {"count": _COUNTED} | dict.fromkeys(("min", "max", "sum", "mean", PERCENTILE), _NUMBER),
)
TIME = Kind(TimeAggregate, TimeHaving, {"count": _COUNTED} | dict.fromkeys(("min", "max"), _TIME))
BOOLEAN = Kind(BooleanAggregate, BooleanHaving, {"count": _COUNTED, "trueCount": _COUNTED, "share": _NUMBER})
OF_GROUP = {COUNT: _COUNTED, SHARE_OF_COUNT: _NUMBER}


@dataclass(frozen=True, slots=True)
class Aggregate:
    """A column that has figures."""

    column: str
    kind: Kind


def kind_of(column: Column[Any]) -> Kind:
    if isinstance(column.type, DateTime):
        return TIME
    return BOOLEAN if isinstance(column.type, Boolean) else NUMBER


def figure(name: str, column: ColumnElement[Any], share: ColumnElement[Any] | None = None) -> ColumnElement[Any]:
    """The SQL of a figure; `share` is the percentile's."""
    match name:
        case "count":
            return func.count(column)
        case "trueCount":
            return func.count().filter(column)
        case "share":
            return cast(func.avg(cast(column, Integer)), Double())
        case "mean":
            return cast(func.avg(column), Double())
        case "percentile":
            return func.percentile_cont(share).within_group(column)
        case "min":
            return func.min(column)
        case "max":
            return func.max(column)
    assert name == "sum"
    return func.sum(column)


def checked_share(value: float) -> float:
    if not 0 <= value <= 1:
        raise InvalidArgument("p", f"must be 0 to 1, not {value}")
    return value
