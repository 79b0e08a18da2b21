"""What a failed keyword of a JSON Schema means, in a few words to somebody who has to mend the field."""

from __future__ import annotations

from typing import Any

import orjson
from jsonschema import ValidationError

from app.contracts.patterns import MOST_TEXT

_MOST_CHOICES = 12
_MOST_VALUE = 80
_WORDS = {
    "minimum": "must be at least {}",
    "maximum": "must be at most {}",
    "exclusiveMinimum": "must be more than {}",
    "exclusiveMaximum": "must be less than {}",
    "multipleOf": "must be a multiple of {}",
    "minLength": "must be at least {} characters long",
    "maxLength": "must be at most {} characters long",
    "minItems": "must hold at least {} items",
    "maxItems": "must hold at most {} items",
    "minProperties": "must have at least {} fields",
    "maxProperties": "must have at most {} fields",
    "const": "must be {}",
    "pattern": "must match {}",
    "uniqueItems": "must not hold the same item twice",
    "contains": "does not hold the items that it must",
    "dependentRequired": "needs other fields beside those that it has",
    "not": "is of a form that is ruled out",
    "required": "is missing",
    "properties": "must not be there",
    "additionalProperties": "is not a known field",
}


def said(error: ValidationError) -> str:
    keyword, rule, value = _facts(error)
    name = "has a field whose name " if "propertyNames" in error.absolute_schema_path else ""
    if keyword == "type":
        return name + "must be of type " + _or([rule] if isinstance(rule, str) else list(rule))
    if keyword == "enum":
        return name + "must be one of " + _listed(list(rule))
    if keyword in {"anyOf", "oneOf"}:
        return name + _forms(error)
    if keyword is None:
        return name + "must not be there"
    if keyword == "pattern" and len(value) > MOST_TEXT:
        return name + f"has a pattern to match and so may be at most {MOST_TEXT:,} characters long"
    return name + _WORDS.get(str(keyword), f"does not fit `{keyword}`").format(_shown(rule))


def _facts(error: ValidationError) -> tuple[Any, Any, Any]:
    return error.validator, error.validator_value, error.instance


def _forms(error: ValidationError) -> str:
    if not error.context:
        return "fits more than one of the allowed forms"
    kinds = [inner for inner in error.context if inner.validator == "type" and not inner.relative_path]
    if len(kinds) == len(error.context) and all(isinstance(kind.validator_value, str) for kind in kinds):
        return "must be of type " + _or([str(kind.validator_value) for kind in kinds])
    return f"fits none of the {len(_facts(error)[1])} allowed forms"


def _listed(values: list[Any]) -> str:
    shown = ", ".join(map(_shown, values[:_MOST_CHOICES]))
    return shown if len(values) <= _MOST_CHOICES else f"{shown} and {len(values) - _MOST_CHOICES} more"


def _shown(value: Any) -> str:
    text = value if isinstance(value, str) else orjson.dumps(value, default=str).decode()
    return text if len(text) <= _MOST_VALUE else f"{text[:_MOST_VALUE]}…"


def _or(words: list[str]) -> str:
    return " or ".join(dict.fromkeys(words))
