"""Says what an unquoted YAML word means, by the rules of YAML 1.2: `no` and `on` are words, `010` is ten."""

from __future__ import annotations

import math
import re

Scalar = None | bool | int | float | str

_NULLS = frozenset({"", "~", "null", "Null", "NULL"})
_BOOLEANS = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
_WHOLE = re.compile(r"[-+]?[0-9]{1,30}")
_NUMBER = re.compile(r"[-+]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][-+]?[0-9]+)?")


def resolve(word: str) -> Scalar:
    """Raises ValueError for a number too large to hold."""
    if word in _NULLS:
        return None
    if word in _BOOLEANS:
        return _BOOLEANS[word]
    if _WHOLE.fullmatch(word):
        return int(word)
    if _NUMBER.fullmatch(word):
        return _finite(word)
    return word


def _finite(word: str) -> float:
    number = float(word)
    if math.isinf(number):
        raise ValueError("is too large a number")
    return number
