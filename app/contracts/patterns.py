"""Regular expressions whose time grows with the text and no faster, whoever wrote them.

Python's own engine can need longer than the universe for `(a+)+$`. Pydantic's is Rust's `regex`, which knows neither
look-around nor back-references, refuses what would grow too large, and needs no more than length of text × pattern.
"""

from __future__ import annotations

from functools import lru_cache

from pydantic_core import SchemaError, SchemaValidator, core_schema

MOST_PATTERN = 200
MOST_TEXT = 2_000


def problem_with(pattern: str) -> str | None:
    if len(pattern) > MOST_PATTERN:
        return f"is {len(pattern)} characters long; at most {MOST_PATTERN} are taken"
    try:
        _compiled(pattern)
    except SchemaError as error:
        why = str(error).splitlines()[-1].strip().removeprefix("error: ").removeprefix("SchemaError: ")
        return f"is not a pattern that can be matched in linear time ({why[:120]})"
    return None


def matches(pattern: str, text: str) -> bool:
    """Whether the pattern is found anywhere in the text."""
    return len(text) <= MOST_TEXT and _compiled(pattern).isinstance_python(text)


@lru_cache(256)
def _compiled(pattern: str) -> SchemaValidator:
    return SchemaValidator(core_schema.str_schema(pattern=pattern, regex_engine="rust-regex"))
