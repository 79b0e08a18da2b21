"""Says where a value does not fit a JSON Schema. Never fetches a schema from elsewhere."""

from __future__ import annotations

from math import inf
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError
from jsonschema.protocols import Validator
from referencing import Registry
from referencing.exceptions import Unresolvable

MOST_PROBLEMS = 5
_LONGEST = 200


def problems(schema: dict[str, Any], value: Any) -> list[str]:
    """Up to five problems, each as `findings.0.severity: 'x' is not one of …`; none when the value fits."""
    validator: Validator = Draft202012Validator(schema, registry=Registry())
    try:
        found = sorted(validator.iter_errors(value), key=lambda error: [str(step) for step in error.absolute_path])
    except (Unresolvable, SchemaError) as error:
        return [f"the schema cannot be used: {_short(str(error))}"]
    return [
        f"{'.'.join(str(step) for step in error.absolute_path) or 'the whole'}: {_short(error.message)}"
        for error in found[:MOST_PROBLEMS]
    ]


def weight(schema: dict[str, Any]) -> float:
    """Its parts when every reference is replaced by what it refers to; infinite when it refers to itself."""
    known: dict[str, float] = {}

    def of(part: Any) -> float:
        if isinstance(part, list):
            return sum(map(of, part))
        if not isinstance(part, dict):
            return 0
        referred = at(part["$ref"]) if isinstance(part.get("$ref"), str) else 0
        return 1 + referred + sum(of(inner) for name, inner in part.items() if name != "$defs")

    def at(reference: str) -> float:
        if reference not in known:
            known[reference] = inf  # what is asked for while it is being weighed contains itself
            found: Any = schema
            for step in filter(None, reference.removeprefix("#").split("/")):
                found = found.get(step) if isinstance(found, dict) else None
            known[reference] = of(found)
        return known[reference]

    return of(schema)


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
