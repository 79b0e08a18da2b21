"""The kinds and values of context variables."""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Any

MAX_VARIABLES = 200
MAX_VARIABLE_TEXT = 2_000
LARGEST_NUMBER = 2**53 - 1  # beyond it a whole number does not survive JSON in every client
VARIABLE_PATTERN = r"^[a-z_][a-z0-9_]*$"
Value = bool | int | float | str
_NUMBER = re.compile(r"[+-]?\d+(?:\.\d+)?")


class VariableKind(StrEnum):
    NUMBER = "number"
    TEXT = "text"
    BOOLEAN = "boolean"

    def read(self, text: str) -> Value | None:
        """The value that a text stands for; None when it is of another kind."""
        match self:
            case VariableKind.TEXT:
                return text.strip("\"'")[:MAX_VARIABLE_TEXT]
            case VariableKind.BOOLEAN:
                return {"true": True, "yes": True, "false": False, "no": False}.get(text.lower())
        if not _NUMBER.fullmatch(text) or len(text) > 40 or abs(float(text)) > LARGEST_NUMBER:
            return None
        return float(text) + 0.0 if "." in text else int(text)


def kind_of(value: Value) -> VariableKind:
    match value:
        case bool():
            return VariableKind.BOOLEAN
        case str():
            return VariableKind.TEXT
    return VariableKind.NUMBER


def checked(value: Any) -> Value:
    """The value as it is kept; raises ValueError for what no variable may hold."""
    match value:
        case bool():
            return value
        case int() | float() if abs(value) <= LARGEST_NUMBER:
            return value + 0  # no negative zero: the database does not keep its sign
        case int() | float():
            raise ValueError(f"must lie between -{LARGEST_NUMBER} and {LARGEST_NUMBER}")
        case str() if len(value) > MAX_VARIABLE_TEXT:
            raise ValueError(f"must be at most {MAX_VARIABLE_TEXT} characters long")
        case str() if "\0" in value:
            raise ValueError("must not contain a null character")
        case str():
            return value
    raise ValueError("must be a number, text, true or false")
