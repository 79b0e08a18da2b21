"""What any JSON document must keep to before it is looked at closer: size, depth, and what Postgres can hold."""

from __future__ import annotations

import math
from typing import Any

import orjson

from app.errors import DocumentProblem, InvalidInput

MOST_DEPTH = 20
MOST_BYTES = 1_000_000
_MOST_PATH = 200
_MOST_PART = 60
_LARGEST_NUMBER = 2**63


def join(at: str, *parts: str | int) -> str:
    """A dotted path further down, cut where it is too long to be shown: its parts are the caller's own words."""
    path = ".".join(filter(None, (at, *(str(part)[:_MOST_PART] for part in parts))))
    return path if len(path) <= _MOST_PATH else f"{path[:_MOST_PATH]}…"


def require_document(at: str, value: Any, *, most_bytes: int = MOST_BYTES) -> dict[str, Any]:
    """The document; raises InvalidInput that names the place of the first problem."""
    if not isinstance(value, dict):
        raise invalid(at, "must be an object")
    _refuse_unfit(at, value)
    size = len(orjson.dumps(value))
    if size > most_bytes:
        raise invalid(at, f"is {size:,} bytes long; at most {most_bytes:,} are taken")
    return value


def invalid(path: str, message: str) -> InvalidInput:
    return InvalidInput(f"{path}: {message}", [DocumentProblem(path, message)])


def _refuse_unfit(at: str, document: Any) -> None:
    left: list[tuple[Any, str, int]] = [(document, at, 0)]
    while left:
        value, path, depth = left.pop()
        if depth > MOST_DEPTH:
            raise invalid(path, f"is nested more than {MOST_DEPTH} deep")
        match value:
            case dict():
                if any("\0" in name for name in value):
                    raise invalid(path, "has a field whose name contains a null character")
                left += [(item, join(path, name), depth + 1) for name, item in value.items()]
            case list():
                left += [(item, join(path, index), depth + 1) for index, item in enumerate(value)]
            case str() if "\0" in value:
                raise invalid(path, "must not contain a null character")
            case float() if not math.isfinite(value):
                raise invalid(path, "is too large a number")
            case int() if not -_LARGEST_NUMBER <= value < _LARGEST_NUMBER:
                raise invalid(path, "is too large a number")
