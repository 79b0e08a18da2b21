"""Comparators of filters: one input type per kind of column, and the SQL that each comparator means."""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import Enum
from typing import Any

import strawberry
from sqlalchemy import (
    REAL,
    BigInteger,
    Boolean,
    ColumnElement,
    DateTime,
    Double,
    Float,
    Integer,
    Numeric,
    String,
    Text,
    Uuid,
    any_,
    func,
    literal_column,
)
from sqlalchemy import Column as SqlColumn
from sqlalchemy import Enum as SqlEnum
from sqlalchemy.dialects.postgresql import ARRAY, TSVECTOR
from sqlalchemy.types import TypeEngine
from strawberry.utils.str_converters import to_camel_case

from app.ids import Prefix, from_global
from graphql_schema.planner.arguments import Bind, Symbol, storable
from graphql_schema.planner.errors import InvalidArgument
from graphql_schema.planner.limits import MAX_PATTERN_CHARS
from graphql_schema.planner.sql import word
from graphql_schema.scalars import Moment, moment_to_datetime

MOST_IN = 200
MOST_WORDS = 20
MOST_WORDS_CHARS = 400
Parameter = Callable[[Bind, TypeEngine[Any], Callable[[Any], Any]], ColumnElement[Any]]
_COMPARISONS: dict[str, type] = {}
_NONE = strawberry.UNSET
_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Comparable:
    """One filterable column: its comparator type, and how outside values become the database's."""

    comparison: type
    sql_type: TypeEngine[Any]
    convert: Callable[[Any], Any]
    nullable: bool
    long: bool = False  # a text without a bound on its length


def comparable(column: SqlColumn[Any], prefix: Prefix | None) -> Comparable:
    sql_type, nullable = column.type, may_be_null(column)
    if isinstance(sql_type, SqlEnum):
        assert sql_type.enum_class is not None
        return Comparable(_enum_comparison(sql_type.enum_class), String(), lambda value: value.value, nullable)
    if isinstance(sql_type, Uuid):
        assert prefix is not None, f"{column} needs a prefix to be filtered by"
        path = to_camel_case(column.name)
        return Comparable(IDComparison, sql_type, lambda value: from_global(prefix, _text(value), path=path), nullable)
    for types, comparison, outside, convert in _SCALARS:
        if isinstance(sql_type, types):
            return Comparable(comparison, outside, convert, nullable, long=isinstance(sql_type, Text))
    raise TypeError(f"no comparison for {column}: {sql_type!r}")


def may_be_null(column: ColumnElement[Any]) -> bool:
    """What a select computes may be null, as far as anybody knows."""
    return bool(getattr(column, "nullable", True))


def _text(value: str) -> str:
    return storable(value, "where")


def _instant(value: Any) -> datetime:
    try:
        return moment_to_datetime(value).astimezone(UTC)
    except OverflowError:
        raise InvalidArgument("where", "a time in UTC must lie in the years 1 to 9999") from None


def _single(value: float) -> float:
    """The nearest number that a column of single precision can hold, so that 0.1 equals the 0.1 that is stored."""
    try:
        return float(struct.unpack("f", struct.pack("f", value))[0])
    except OverflowError:
        return math.copysign(math.inf, value)


def _same(value: Any) -> Any:
    return value


def compare(
    column: ColumnElement[Any], how: dict[str, Symbol], kind: Comparable, parameter: Parameter
) -> list[ColumnElement[bool]]:
    """The conditions that one column's comparators ask for; a comparator that is null asks for nothing."""
    conditions = []
    for operator, value in how.items():
        if value is None:
            continue
        conditions.append(_condition(column, operator, value, kind, parameter))
    return conditions


def _condition(
    column: ColumnElement[Any], operator: str, value: Symbol, kind: Comparable, parameter: Parameter
) -> ColumnElement[bool]:
    if operator == "isNull":
        return column.is_(None) if value else column.is_not(None)
    if operator in {"in", "notIn"}:
        return _membership(column, operator == "in", value, kind, parameter)
    if operator in {"contains", "startsWith"}:
        pattern = parameter(value, String(), _PATTERNS[operator])
        return column.ilike(pattern, escape="\\")
    if operator == "match":
        return column.op("@@", is_comparison=True)(
            func.websearch_to_tsquery(word("simple"), parameter(_bind(value), String(), _words))
        )
    bound = value if isinstance(value, bool) else parameter(_bind(value), kind.sql_type, kind.convert)
    return _OPERATORS[operator](column, bound)


def _membership(
    column: ColumnElement[Any], wanted: bool, value: Symbol, kind: Comparable, parameter: Parameter
) -> ColumnElement[bool]:
    def convert(items: list[Any]) -> list[Any]:
        if len(items) > MOST_IN:
            raise InvalidArgument("where", f"a list in a filter may hold {MOST_IN} values; this one holds {len(items)}")
        return [kind.convert(item) for item in items if item is not None]

    array = parameter(_bind(value), ARRAY(kind.sql_type), convert)
    member = column == any_(array)
    return member if wanted else func.coalesce(~member, literal_column("true"))


def _bind(value: Symbol) -> Bind:
    return value if isinstance(value, Bind) else Bind(lambda _: value)


def _words(text: str) -> str:
    found = _WORD.findall(_text(text))
    if not found:
        raise InvalidArgument("where", "match needs at least one word of letters or digits")
    if len(found) > MOST_WORDS or len(text) > MOST_WORDS_CHARS:
        raise InvalidArgument("where", f"match takes at most {MOST_WORDS} words in {MOST_WORDS_CHARS} characters")
    return text


def _escaped(text: str) -> str:
    if len(text) > MAX_PATTERN_CHARS:
        raise InvalidArgument(
            "where", f"contains and startsWith take at most {MAX_PATTERN_CHARS} characters, not {len(text)}"
        )
    return _text(text).replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")


_PATTERNS: dict[str, Callable[[str], str]] = {
    "contains": lambda text: f"%{_escaped(text)}%",
    "startsWith": lambda text: f"{_escaped(text)}%",
}
_OPERATORS: dict[str, Callable[[ColumnElement[Any], Any], ColumnElement[bool]]] = {
    "eq": lambda column, value: column == value,
    "ne": lambda column, value: column.is_distinct_from(value),
    "gt": lambda column, value: column > value,
    "gte": lambda column, value: column >= value,
    "lt": lambda column, value: column < value,
    "lte": lambda column, value: column <= value,
}


_TEXTS = {
    "eq": "Equal to this.",
    "ne": "Not equal to this; null counts as not equal.",
    "in": f"One of these; at most {MOST_IN}.",
    "notIn": f"None of these; null counts as none; at most {MOST_IN}.",
    "gt": "Greater than this; of times: later.",
    "gte": "Greater than or equal to this.",
    "lt": "Less than this; of times: earlier.",
    "lte": "Less than or equal to this.",
    "contains": f"Contains this text, in any case of letters. At most {MAX_PATTERN_CHARS} characters.",
    "startsWith": f"Starts with this text, in any case of letters. At most {MAX_PATTERN_CHARS} characters.",
    "isNull": "True: has no value. False: has one.",
    "match": "All of these words occur, in any case of letters. Words in double quotes occur next to each other; "
    "`-word` does not occur; of words with `or` between them one is enough. "
    f"At most {MOST_WORDS} words in {MOST_WORDS_CHARS} characters.",
}
_EQUALITY = ("eq", "ne", "in", "notIn", "isNull")
_ORDER = ("gt", "gte", "lt", "lte")


def _comparison(name: str, value: Any, operators: tuple[str, ...], **required: tuple[Any, str]) -> type:
    if name not in _COMPARISONS:
        annotations: dict[str, Any] = {python_name: kind for python_name, (kind, _) in required.items()}
        members: dict[str, Any] = {"__annotations__": annotations, "__module__": __name__}
        members |= {python_name: strawberry.field(description=text) for python_name, (_, text) in required.items()}
        for operator in operators:
            python_name = {"in": "in_", "notIn": "not_in", "startsWith": "starts_with", "isNull": "is_null"}.get(
                operator, operator
            )
            many = operator in {"in", "notIn"}
            annotations[python_name] = (bool if operator == "isNull" else list[value] if many else value) | None
            members[python_name] = strawberry.field(name=operator, default=_NONE, description=_TEXTS[operator])
        description = f"Conditions on a value of type {name.removesuffix('Comparison')}; all given ones must hold."
        _COMPARISONS[name] = strawberry.input(type(name, (), members), description=description)
    return _COMPARISONS[name]


def _enum_comparison(kind: type[Enum]) -> type:
    """Named by the enum's name in the schema; two slices may each have a class of one name."""
    return _comparison(f"{kind.__strawberry_definition__.name}Comparison", kind, _EQUALITY)  # type: ignore[attr-defined]


IDComparison = _comparison("IDComparison", strawberry.ID, _EQUALITY)
StringComparison = _comparison("StringComparison", str, (*_EQUALITY, *_ORDER, "contains", "startsWith"))
IntComparison = _comparison("IntComparison", int, (*_EQUALITY, *_ORDER))
FloatComparison = _comparison("FloatComparison", float, (*_EQUALITY, *_ORDER))
MomentComparison = _comparison("MomentComparison", Moment, (*_EQUALITY, *_ORDER))
BooleanComparison = _comparison("BooleanComparison", bool, ("eq", "ne", "isNull"))
WordsComparison = _comparison("WordsComparison", str, ("match",))
PercentileComparison = _comparison(
    "PercentileComparison", float, _ORDER, p=(float, "Which percentile: a share, 0 to 1; 0.95 is the 95th.")
)
# By column type: the comparison, and the SQL type that holds every value which a client may compare with: GraphQL's Int
# is wider than a small integer, its Float the only number that is as wide as a big one.
_SCALARS: tuple[tuple[tuple[type, ...], type, TypeEngine[Any], Callable[[Any], Any]], ...] = (
    ((TSVECTOR,), WordsComparison, String(), _words),
    ((String,), StringComparison, String(), _text),
    ((REAL,), FloatComparison, Double(), _single),
    ((BigInteger, Float, Numeric), FloatComparison, Double(), _same),
    ((Integer,), IntComparison, Integer(), _same),
    ((DateTime,), MomentComparison, DateTime(timezone=True), _instant),
    ((Boolean,), BooleanComparison, Boolean(), _same),
)
