"""Keyset pages: the order of a connection, the condition "behind this cursor", and the cursor's text.

A cursor holds the order's name and the values of its keys at one row. It is made in SQL, read here.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

import orjson
from sqlalchemy import ColumnElement, DateTime, Text, Uuid, and_, cast, func, literal_column, or_, tuple_
from sqlalchemy.types import TypeEngine

from app.events.cursor import InvalidCursor

MOST_ROWS = 100
DEFAULT_ROWS = 25


@dataclass(frozen=True, slots=True)
class Key:
    """One part of the order: an expression, its name, its direction."""

    name: str
    expression: ColumnElement[Any]
    descending: bool
    nullable: bool

    @property
    def type(self) -> TypeEngine[Any]:
        return self.expression.type


@dataclass(frozen=True, slots=True)
class Order:
    keys: tuple[Key, ...]

    @property
    def name(self) -> str:
        return ",".join(("-" if key.descending else "") + key.name for key in self.keys)

    def clauses(self, *, backward: bool) -> list[ColumnElement[Any]]:
        """Nulls stand last, and first when the page is read from the end."""
        clauses = []
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

    def cursor(self, expressions: list[ColumnElement[Any]]) -> ColumnElement[Any]:
        """SQL that makes the cursor of a row."""
        name = literal_column("'" + self.name.replace("'", "''") + "'")
        packed = cast(func.json_build_array(name, *expressions), Text)
        encoded = func.encode(func.convert_to(packed, literal_column("'UTF8'")), literal_column("'base64'"))
        return func.translate(encoded, literal_column("E'+/\\n'"), literal_column("'-_'"))

    def reader(self, position: int) -> Callable[[str], Any]:
        """Reads one key's value out of a cursor's text; raises InvalidCursor."""
        convert = _converter(self.keys[position].type)

        def read(text: str) -> Any:
            values = self._decode(text)
            try:
                value = values[position + 1]
                return None if value is None else convert(value)
            except (TypeError, ValueError):
                raise _malformed() from None

        return read

    def _decode(self, text: str) -> list[Any]:
        try:
            values = orjson.loads(base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True))
        except (binascii.Error, ValueError):
            raise _malformed() from None
        if not isinstance(values, list) or len(values) != len(self.keys) + 1:
            raise _malformed()
        if values[0] != self.name:
            raise InvalidCursor("OTHER_ORDER", "This cursor was made under another order. Start again without it.")
        return values


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


def _converter(sql_type: TypeEngine[Any]) -> Callable[[Any], Any]:
    if isinstance(sql_type, Uuid):
        return lambda value: UUID(value)
    if isinstance(sql_type, DateTime):
        return datetime.fromisoformat
    python_type = sql_type.python_type
    if python_type in (int, float):
        return lambda value: python_type(value)

    def text(value: Any) -> Any:
        if not isinstance(value, str):
            raise TypeError
        return value

    return text
