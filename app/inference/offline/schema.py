"""Reads a JSON Schema as one who has to fill it in: what kind of value, where a reference leads. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pydantic_core import SchemaError, SchemaValidator, core_schema

DEEPEST = 12
MISSING = object()


def kind(schema: Any) -> str:
    """The first type that is not null; without a type, what the schema looks like."""
    said = schema.get("type") if isinstance(schema, dict) else None
    if isinstance(said, list):
        said = next((one for one in said if one != "null"), "null")
    if said is None and isinstance(schema, dict):
        said = "object" if "properties" in schema else "array" if "items" in schema else "string"
    return str(said)


def resolved(root: dict[str, Any], schema: Any) -> dict[str, Any]:
    """References followed, alternatives decided (the first that is not null), parts put together."""
    for _ in range(DEEPEST):
        if not isinstance(schema, dict):
            return {}
        if isinstance(reference := schema.get("$ref"), str):
            schema = {**_referred(root, reference), **_without(schema, "$ref")}
        elif choices := schema.get("anyOf") or schema.get("oneOf"):
            schema = {**_without(schema, "anyOf", "oneOf"), **next((one for one in choices if kind(one) != "null"), {})}
        elif parts := schema.get("allOf"):
            schema = _together(_without(schema, "allOf"), parts)
        else:
            return schema
    return {}


def within(schema: dict[str, Any], number: float) -> float | int:
    """The number, or the nearest that the schema allows."""
    whole = kind(schema) == "integer"
    step = schema.get("multipleOf") or (1 if whole else 0)
    margin = step or 0.001
    least, most = schema.get("minimum", 0), schema.get("maximum")
    if "exclusiveMinimum" in schema:
        least = schema["exclusiveMinimum"] + margin
    if "exclusiveMaximum" in schema:
        most = schema["exclusiveMaximum"] - margin
    if most is not None and "minimum" not in schema and "exclusiveMinimum" not in schema:
        least = min(least, most)
    number = max(number, least) if most is None else min(max(number, least), most)
    if step:
        number = max(-(-least // step), number // step) * step
    return int(number) if whole else number


def matches(pattern: str, text: str) -> bool:
    """By pydantic's engine, whose time grows with the text and no faster; what it cannot read matches nothing."""
    try:
        return SchemaValidator(core_schema.str_schema(pattern=pattern)).isinstance_python(text)
    except SchemaError:
        return False


def named(value: Any, name: str) -> Any:
    """The first value of this name inside another, outer before inner, or MISSING."""
    layer = [value]
    for _ in range(DEEPEST):
        for one in layer:
            if isinstance(one, dict) and name in one:
                return one[name]
        layer = [inner for one in layer for inner in _inside(one)]
    return MISSING


def _inside(value: Any) -> Sequence[Any]:
    return list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else ()


def _without(schema: dict[str, Any], *keys: str) -> dict[str, Any]:
    return {key: value for key, value in schema.items() if key not in keys}


def _referred(root: dict[str, Any], reference: str) -> dict[str, Any]:
    found: Any = root
    for step in reference.removeprefix("#/").split("/"):
        found = found.get(step.replace("~1", "/").replace("~0", "~")) if isinstance(found, dict) else None
    return found if isinstance(found, dict) else {}


def _together(base: dict[str, Any], parts: Sequence[Any]) -> dict[str, Any]:
    for part in parts:
        if isinstance(part, dict):
            properties = {**base.get("properties", {}), **part.get("properties", {})}
            required = [*base.get("required", []), *part.get("required", [])]
            base = {**base, **part, **({"properties": properties, "required": required} if properties else {})}
    return base
