"""The forms that an export can have, and how a client chooses one: by `format=` in the URL, else by Accept."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import Protocol
from urllib.parse import parse_qs

import orjson
from graphql import FieldNode, GraphQLObjectType

from app.errors import AppError
from graphql_schema.errors import masked
from graphql_schema.exports import table
from graphql_schema.planner.selection import Selection
from graphql_schema.transport.negotiation import rank_of, read_ranges
from graphql_schema.transport.refusals import HttpRefusal, from_app_error
from graphql_schema.transport.request import MAX_URL_PARAMETERS, BadRequest


class Format(Enum):
    """In the order in which a wildcard means them."""

    NDJSON = "application/x-ndjson"
    CSV = "text/csv"


class Form(Protocol):
    format: Format
    content_type: bytes
    head: bytes

    def rows(self, bodies: Sequence[bytes]) -> bytes:
        """The rows with these JSON objects, each ended."""

    def failure(self, error: BaseException, after: str | None) -> bytes | None:
        """The last words of an export that broke off behind this cursor; None where the form has none."""


class Ndjson:
    format = Format.NDJSON
    content_type = b"application/x-ndjson; charset=utf-8"
    head = b""

    def rows(self, bodies: Sequence[bytes]) -> bytes:
        # Postgres breaks the lines of lists. In JSON such a break is never part of a value.
        return b"\n".join([body.replace(b"\n", b"") for body in bodies]) + b"\n"

    def failure(self, error: BaseException, after: str | None) -> bytes | None:
        if isinstance(error, AppError):
            shown = orjson.loads(from_app_error(error).body)["errors"][0]
        else:
            message, extensions = masked(error)
            shown = {"message": message, "extensions": extensions}
        shown["extensions"]["after"] = after
        return orjson.dumps({"error": shown}, option=orjson.OPT_APPEND_NEWLINE)


class Csv:
    format = Format.CSV
    content_type = b"text/csv; charset=utf-8; header=present"

    def __init__(self, selection: Selection, of: GraphQLObjectType, nodes: list[FieldNode]) -> None:
        self._columns = table.columns(selection, of, nodes)
        self.head = table.header(self._columns)

    def rows(self, bodies: Sequence[bytes]) -> bytes:
        return table.encoded(self._columns, bodies)

    def failure(self, error: BaseException, after: str | None) -> bytes | None:
        if not isinstance(error, AppError):
            masked(error)
        return None


def chosen(query_string: bytes, accept: bytes | None) -> Format:
    """Raises HttpRefusal when the client wants what there is not."""
    try:
        named = parse_qs(query_string.decode("latin-1"), max_num_fields=MAX_URL_PARAMETERS).get("format")
        if named:
            return Format[named[-1].upper()]
    except (KeyError, ValueError):
        raise BadRequest("The URL parameter 'format' must be ndjson or csv, and parameters at most 20.") from None
    ranges = read_ranges(accept or b"*/*")
    best: tuple[float, int] = (0.0, 0)
    found = None
    for offered in Format:
        rank = rank_of(offered.value, ranges, wild=True)
        if rank > best:
            best, found = rank, offered
    if found is None:
        raise HttpRefusal(406, "NOT_ACCEPTABLE", "An export is application/x-ndjson or text/csv. Accept one of them.")
    return found
