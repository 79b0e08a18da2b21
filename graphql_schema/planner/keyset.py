"""Keyset pages: the order of a connection, the condition "behind this cursor", and the cursor's text.

A cursor holds the order's name and the values of its keys at one row. It is made in SQL, read here.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal, InvalidOperation
from typing import Any
from uuid import UUID

import orjson
from sqlalchemy import (
    BigInteger,
    Boolean,
    ColumnElement,
    DateTime,
    Double,
    Float,
    Integer,
    Numeric,
    Text,
    Uuid,
    and_,
    cast,
    func,
    literal_column,
    or_,
    tuple_,
)
from sqlalchemy.types import TypeEngine

from app.events.cursor import InvalidCursor
from graphql_schema.planner.arguments import storable
from graphql_schema.planner.errors import InvalidArgument

MOST_ROWS = 100
DEFAULT_ROWS = 25
Convert = Callable[[Any], Any]


@dataclass(frozen=True, slots=True)
class Key:
    """One part of the order: an expression, its name, its direction."""

    name: str
    expression: ColumnElement[Any]
    descending: bool
    nullable: bool

    @property
    def sql_type(self) -> TypeEngine[Any]:
        """What a value out of a cursor is handed to SQL as."""
        return _wire(self.expression.type)[0]


@dataclass(frozen=True, slots=True)
class Order:
    keys: tuple[Key, ...]

    @property
    def name(self) -> str:
        return ",".join(("-" if key.descending else "") + key.name for key in self.keys)

    def clauses(self, *, backward: bool) -> list[ColumnElement[Any]]:
        """Nulls stand last, and first when the page is read from the end."""
        clauses: list[ColumnElement[Any]] = []
        for key in self.keys:
            clause = key.expression.desc() if key.descending != backward else key.expression.asc()
            if key.nullable:
                clause = clause.nulls_first() if backward else clause.nulls_last()
            clauses.append(clause)
        return clauses

    def beyond(self, values: list[ColumnElement[Any]], *, backward: bool) -> ColumnElement[bool]:
        """Rows behind (or, backward, in front of) the row with these key values."""
        directions = {key.descending != backward for key in self.keys}
        if len(directions) == 1 and not any(key.nullable for key in self.keys):
            row, limit = tuple_(*(key.expression for key in self.keys)), tuple_(*values)
            return row < limit if directions == {True} else row > limit
        options = []
        for position, key in enumerate(self.keys):
            same = [_same(k, v) for k, v in zip(self.keys[:position], values[:position], strict=True)]
            options.append(and_(*same, _past(key, values[position], backward)))
        return or_(*options)

    def cursor(self) -> ColumnElement[Any]:
        """SQL that makes the cursor of a row."""
        name: ColumnElement[Any] = literal_column("'" + self.name.replace("'", "''") + "'")
        packed = cast(func.json_build_array(name, *(_packed(key.expression) for key in self.keys)), Text)
        encoded = func.encode(func.convert_to(packed, literal_column("'UTF8'")), literal_column("'base64'"))
        return func.translate(encoded, literal_column("E'+/\\n'"), literal_column("'-_'"))

    def reader(self, position: int) -> Convert:
        """Reads one key's value out of a cursor's text; raises InvalidCursor."""
        # Kept as long as the plan: nothing of the statement's expressions may hang on it.
        name, count = self.name, len(self.keys)
        convert, nullable = _wire(self.keys[position].expression.type)[1], self.keys[position].nullable

        def read(text: str) -> Any:
            value = _decode(text, name, count)[position]
            if value is None and nullable:
                return None
            try:
                return convert(value)
            except (TypeError, ValueError, OverflowError, InvalidOperation, InvalidArgument):
                raise _malformed() from None

        return read


def _decode(text: str, name: str, count: int) -> list[Any]:
    """The values of a cursor that was made under the order of this name."""
    try:
        values = orjson.loads(base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True))
    except (binascii.Error, ValueError):
        raise _malformed() from None
    if not isinstance(values, list) or not values or not isinstance(values[0], str):
        raise _malformed()
    if values[0] != name:
        raise InvalidCursor("OTHER_ORDER", "This cursor was made under another order. Start again without it.")
    if len(values) != count + 1:
        raise _malformed()
    return values[1:]


def _same(key: Key, value: ColumnElement[Any]) -> ColumnElement[bool]:
    return key.expression.is_not_distinct_from(value) if key.nullable else key.expression == value


def _past(key: Key, value: ColumnElement[Any], backward: bool) -> ColumnElement[bool]:
    down = key.descending != backward
    past = key.expression < value if down else key.expression > value
    if not key.nullable:
        return past
    # Nulls stand last: behind every value when reading on, in front of nothing when reading back.
    if backward:
        return or_(past, and_(value.is_(None), key.expression.is_not(None)))
    return or_(past, and_(value.is_not(None), key.expression.is_(None)))


def _malformed() -> InvalidCursor:
    return InvalidCursor("MALFORMED", "This is not a cursor of this list. Use one from its edges or pageInfo.")


def _packed(expression: ColumnElement[Any]) -> ColumnElement[Any]:
    """A JSON reader would round a number of many digits; a text keeps them."""
    return cast(expression, Text) if isinstance(expression.type, Numeric) else expression


def _wire(sql_type: TypeEngine[Any]) -> tuple[TypeEngine[Any], Convert]:
    """How a key's value comes back out of a cursor: its SQL type and a reader that refuses everything else."""
    for kind, outside, convert in _WIRE:
        if isinstance(sql_type, kind):
            return outside, convert
    return Text(), _text


def _text(value: Any) -> str:
    return storable(_instance(value, str), "cursor")


def _instance(value: Any, *kinds: type) -> Any:
    if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
        raise TypeError
    return value


def _time(value: Any) -> datetime:
    parsed = datetime.fromisoformat(value)
    if parsed.tzinfo is None:
        raise ValueError
    return parsed.astimezone(UTC)


def _integer(bits: int) -> Convert:
    def convert(value: Any) -> int:
        number: int = _instance(value, int)
        if not -(2 ** (bits - 1)) <= number < 2 ** (bits - 1):
            raise ValueError
        return number

    return convert


def _decimal(value: Any) -> Decimal:
    number = Decimal(_instance(value, str))
    if not number.is_finite() or abs(number.adjusted()) > 1_000:
        raise ValueError
    return number


_WIRE: tuple[tuple[type, TypeEngine[Any], Convert], ...] = (
    (Uuid, Uuid(), lambda value: UUID(_instance(value, str))),
    (DateTime, DateTime(timezone=True), _time),
    (Boolean, Boolean(), lambda value: _instance(value, bool)),
    (BigInteger, BigInteger(), _integer(64)),
    (Integer, Integer(), _integer(32)),
    (Float, Double(), lambda value: float(_instance(value, int, float))),
    (Numeric, Numeric(), _decimal),
)
