"""Scalars of the schema."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from decimal import Decimal, InvalidOperation
from typing import Any, NewType

import strawberry
from graphql import GraphQLError, ValueNode, value_from_ast_untyped
from strawberry.schema.config import StrawberryConfig
from strawberry.types.scalar import ScalarDefinition

from app.clock import now

_DURATION = re.compile(
    r"^(?P<sign>[+-]?)P(?=.)(?:(?P<years>\d+)Y)?(?:(?P<months>\d+)M)?(?:(?P<weeks>\d+)W)?(?:(?P<days>\d+)D)?"
    r"(?:T(?=.)(?:(?P<hours>\d+)H)?(?:(?P<minutes>\d+)M)?(?:(?P<seconds>\d+)S)?)?$"
)
_DAYS = {"years": 365, "months": 30, "weeks": 7, "days": 1}
_MOST_DAYS = 36_525  # a century either way


class Relative(timedelta):
    """A time given as a distance from now."""


Moment = NewType("Moment", object)
Cursor = NewType("Cursor", str)
DateTime = NewType("DateTime", datetime)
JSON = NewType("JSON", object)
Usd = NewType("Usd", Decimal)
_MOST_USD = 10**12  # what is more cannot be rounded to six decimals, nor is it money


def parse_datetime(value: Any, more: str = "") -> datetime:
    try:
        parsed = datetime.fromisoformat(value)
    except (TypeError, ValueError):
        raise GraphQLError(f"'{str(value)[:40]}' is not a time such as 2026-03-01T12:00:00Z{more}.") from None
    return parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)


def parse_moment(value: Any) -> datetime | Relative:
    if isinstance(value, str) and value[:2].lstrip("+-").startswith("P"):
        return parse_duration(value)
    return parse_datetime(value, ", nor one from now such as -P7D")


def parse_duration(value: str) -> Relative:
    match = _DURATION.match(value[:64])
    if match is None:
        raise GraphQLError(f"'{value[:40]}' is not a duration such as -P7D or -PT12H.")
    parts = {name: int(number) for name, number in match.groupdict().items() if number and name != "sign"}
    days = sum(_DAYS[name] * parts.get(name, 0) for name in _DAYS)
    seconds = parts.get("hours", 0) * 3600 + parts.get("minutes", 0) * 60 + parts.get("seconds", 0)
    if days + seconds / 86_400 > _MOST_DAYS:
        raise GraphQLError(f"'{value[:40]}' lies more than a century away.")
    sign = -1 if match["sign"] == "-" else 1
    return Relative(days=sign * days, seconds=sign * seconds)


def moment_to_datetime(value: datetime | Relative) -> datetime:
    return now() + value if isinstance(value, timedelta) else value


def parse_usd(value: Any) -> Decimal:
    """From the shortest text of a number, so that 0.1 is a tenth."""
    try:
        if isinstance(value, bool) or not isinstance(value, int | float | str):
            raise ValueError
        amount = Decimal(str(value))
    except (ValueError, InvalidOperation):
        raise GraphQLError(f"'{str(value)[:40]}' is not an amount such as 0.25.") from None
    if not amount.is_finite() or abs(amount) > _MOST_USD:
        raise GraphQLError(f"'{str(value)[:40]}' is not an amount of at most a trillion US dollars.")
    if amount != round(amount, 6):
        raise GraphQLError(f"'{str(value)[:40]}' is not an amount with at most six decimals.")
    return amount


def _untyped(node: ValueNode, variables: dict[str, Any] | None = None) -> Any:
    return value_from_ast_untyped(node, variables)


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else value.isoformat()


SCALARS: dict[object, ScalarDefinition] = {
    DateTime: strawberry.scalar(
        name="DateTime",
        description="A point in time in ISO 8601 with its offset, such as `2026-03-01T12:00:00+00:00`. "
        "Answers are in UTC.",
        specified_by_url="https://scalars.graphql.org/andimarek/date-time.html",
        serialize=_as_text,
        parse_value=parse_datetime,
    ),
    Moment: strawberry.scalar(
        name="Moment",
        description="A point in time for filters: a DateTime, or a distance from now as an ISO 8601 duration such as "
        "`-P7D` (seven days ago) or `-PT12H`. A year counts 365 days, a month 30; at most a century.",
        serialize=_as_text,
        parse_value=parse_moment,
    ),
    Cursor: strawberry.scalar(
        name="Cursor",
        description="An opaque place in a list or in the event log. Keep it as it is; give it back as `after` or "
        "`before`.",
        serialize=str,
        parse_value=str,
    ),
    Usd: strawberry.scalar(
        name="Usd",
        description="An amount of US dollars as a number with at most six decimals, such as `0.25`. Kept and added "
        "exactly; in inputs a string is taken too.",
        serialize=float,
        parse_value=parse_usd,
    ),
    JSON: strawberry.scalar(
        name="JSON",
        description="Any JSON value.",
        serialize=lambda value: value,
        parse_value=lambda value: value,
        parse_literal=_untyped,
    ),
}

CONFIG = StrawberryConfig(scalar_map=SCALARS)
