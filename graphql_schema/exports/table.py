"""Rows as CSV (RFC 4180): nested objects become dotted columns, lists and JSON stay JSON, formulas are disarmed."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import orjson
from graphql import FieldNode, GraphQLList, GraphQLNonNull, GraphQLObjectType, GraphQLOutputType

from graphql_schema.planner.selection import Selection

# A spreadsheet would run such a text. Those that already start with quotes get one more, so that nothing is ambiguous.
_FORMULA = re.compile(r"'*[=+\-@\t\r\n]")


@dataclass(frozen=True, slots=True)
class CsvColumn:
    """`path` leads to the value from the row; `json` keeps it as JSON whatever it is."""

    path: tuple[str, ...]
    json: bool

    @property
    def name(self) -> str:
        return ".".join(self.path)


def columns(
    selection: Selection, of: GraphQLObjectType, nodes: list[FieldNode], above: tuple[str, ...] = ()
) -> list[CsvColumn]:
    """The columns in the selection's order."""
    found: list[CsvColumn] = []
    for key, fields in selection.below(of, nodes).items():
        path, definition = (*above, key), of.fields.get(fields[0].name.value)
        inner = _stripped(definition.type) if definition else None  # none: `__typename`
        if isinstance(inner, GraphQLObjectType):
            found += columns(selection, inner, fields, path)
        else:
            found.append(CsvColumn(path, inner is not None and not _is_plain(inner)))
    return found


def _stripped(of: GraphQLOutputType) -> GraphQLOutputType:
    return of.of_type if isinstance(of, GraphQLNonNull) else of


def _is_plain(of: GraphQLOutputType) -> bool:
    return not isinstance(of, GraphQLList) and str(of) != "JSON"


def header(wanted: list[CsvColumn]) -> bytes:
    return (",".join(column.name for column in wanted) + "\r\n").encode()


def encoded(wanted: list[CsvColumn], bodies: Iterable[bytes]) -> bytes:
    lines = []
    for body in bodies:
        row = orjson.loads(body)
        lines.append(",".join([_cell(row, column) for column in wanted]))
    return ("\r\n".join(lines) + "\r\n").encode()


def _cell(row: Any, column: CsvColumn) -> str:
    """Null is an empty cell, the empty text is a pair of quotes."""
    value = row
    for key in column.path:
        value = value[key]
        if value is None:
            return ""
    if column.json or isinstance(value, dict | list):
        return _quoted(orjson.dumps(value).decode())
    if isinstance(value, str):
        return _quoted("'" + value if _FORMULA.match(value) else value)
    return orjson.dumps(value).decode()


def _quoted(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'
