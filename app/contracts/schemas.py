"""What the schema of a contract may say: JSON Schema draft 2020-12, less what cannot be checked in bounded time.

A keyword that is not known is refused, for a slip such as `requierd` would leave the field unchecked without a word.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from typing import Any

from jsonschema import Draft202012Validator

from app.contracts import patterns
from app.contracts.check import MOST_PROBLEMS, problems_of
from app.contracts.documents import join
from app.errors import DocumentProblem, FieldProblem

MOST_BYTES = 64_000
MOST_SUBSCHEMAS = 500
MOST_CHOICES = 1_000
DIALECT = "https://json-schema.org/draft/2020-12/schema"

_LOCAL = re.compile(r"#/\$defs/([^/~%]+)")
_HERE = frozenset({"not", "if", "then", "else"})  # applied to the same value, as are the lists below and `$ref`
_HERE_LISTS = frozenset({"allOf", "anyOf", "oneOf"})
_ONE = _HERE | {"items", "contains", "additionalProperties", "propertyNames"}
_LISTS = _HERE_LISTS | {"prefixItems"}
_MAPS = frozenset({"properties", "$defs", "dependentSchemas"})
_PLAIN = frozenset(
    "type enum const multipleOf maximum exclusiveMaximum minimum exclusiveMinimum maxLength minLength pattern maxItems "
    "minItems uniqueItems maxContains minContains maxProperties minProperties required dependentRequired $ref $comment "
    "title description default deprecated readOnly writeOnly examples format contentEncoding contentMediaType "
    "discriminator".split()
)
_KNOWN = _ONE | _LISTS | _MAPS | _PLAIN
_UNBOUNDED = "cannot be checked in bounded time; "
_REFUSED = {
    "patternProperties": f"{_UNBOUNDED}name the fields, or use additionalProperties with propertyNames",
    "unevaluatedProperties": f"{_UNBOUNDED}use additionalProperties",
    "unevaluatedItems": f"{_UNBOUNDED}use items",
    "$id": "is not taken: a contract stands for itself",
    "$anchor": "is not taken: refer to #/$defs/… instead",
    "$dynamicAnchor": "is not taken: refer to #/$defs/… instead",
    "$dynamicRef": "is not taken: use $ref to #/$defs/… instead",
    "$schema": f"may stand at the top only, and only as {DIALECT}",
    "definitions": "is of an older draft; write $defs",
    "dependencies": "is of an older draft; write dependentRequired or dependentSchemas",
    "additionalItems": "is of an older draft; write items beside prefixItems",
}

_METASCHEMA = Draft202012Validator(Draft202012Validator.META_SCHEMA)


def problems_with(schema: dict[str, Any], at: str) -> list[FieldProblem]:
    """What is wrong with a schema that stands at this place of the input, at most 20 problems."""
    found = list(islice(_problems(schema, at), MOST_PROBLEMS))
    return found or problems_of(_METASCHEMA.iter_errors(schema), at)


def _problems(schema: dict[str, Any], at: str) -> Iterator[FieldProblem]:
    if schema.get("type") != "object":
        yield DocumentProblem(join(at, "type"), 'must be "object": a task is given an object and answers one')
    if str(schema.get("$schema", DIALECT)).rstrip("#") != DIALECT:
        yield DocumentProblem(join(at, "$schema"), f"must be {DIALECT} or be left out")
    defined = schema.get("$defs")
    definitions = defined if isinstance(defined, dict) else {}
    count = 0
    for part, path in _subschemas(schema, at):
        count += 1
        if count > MOST_SUBSCHEMAS:
            yield DocumentProblem(at, f"has more than {MOST_SUBSCHEMAS:,} subschemas")
            return
        yield from _problems_of_one(part, path, definitions, is_root=path == at)
    yield from _circles(definitions, at)


def _subschemas(schema: Any, at: str) -> Iterator[tuple[dict[str, Any], str]]:
    """Every part that is a schema itself, the whole first; `true` and `false` need no look."""
    left = [(schema, at)]
    while left:
        part, path = left.pop()
        if isinstance(part, dict):
            yield part, path
            left += [(inner, join(path, *where)) for where, inner in _inside(part)]


def _inside(part: dict[str, Any]) -> Iterator[tuple[tuple[str | int, ...], Any]]:
    for name, value in part.items():
        if name in _ONE:
            yield (name,), value
        elif name in _LISTS and isinstance(value, list):
            yield from (((name, index), inner) for index, inner in enumerate(value))
        elif name in _MAPS and isinstance(value, dict):
            yield from (((name, key), inner) for key, inner in value.items())


def _problems_of_one(
    part: dict[str, Any], path: str, definitions: dict[str, Any], *, is_root: bool
) -> Iterator[FieldProblem]:
    for name, value in part.items():
        if name == "$schema" and is_root:
            continue
        problem = _REFUSED.get(name) or _problem_with(name, value, definitions)
        if name == "$defs" and not is_root:
            problem = "may stand at the top only"
        if problem:
            yield DocumentProblem(join(path, name), problem)


def _problem_with(name: str, value: Any, definitions: dict[str, Any]) -> str | None:
    if name not in _KNOWN and not name.startswith("x-"):
        return "is not a keyword of JSON Schema draft 2020-12; begin its name with x- to keep it as a remark"
    if name == "$ref" and isinstance(value, str):
        return _problem_with_reference(value, definitions)
    if name == "pattern" and isinstance(value, str):
        return patterns.problem_with(value)
    if name == "enum" and isinstance(value, list) and len(value) > MOST_CHOICES:
        return f"lists {len(value):,} values; at most {MOST_CHOICES:,} are taken"
    return None


def _problem_with_reference(value: str, definitions: dict[str, Any]) -> str | None:
    match = _LOCAL.fullmatch(value)
    if match is None:
        return f"'{value[:80]}' is not taken: nothing is fetched; refer to #/$defs/… in this schema"
    return None if match[1] in definitions else f"there is no '{match[1][:60]}' in $defs"


def _circles(definitions: dict[str, Any], at: str) -> Iterator[FieldProblem]:
    """Definitions that refer to themselves for the very same value, which no check could ever finish."""
    edges = {name: set(_references_here(part)) for name, part in definitions.items()}
    for name in edges:
        reached, left = set(), list(edges[name])
        while left:
            step = left.pop()
            if step not in reached:
                reached.add(step)
                left += edges.get(step, ())
        if name in reached:
            yield DocumentProblem(join(at, "$defs", name), "refers to itself for the same value, without end")


def _references_here(part: Any) -> Iterator[str]:
    if not isinstance(part, dict):
        return
    for name, value in part.items():
        if name == "$ref" and isinstance(value, str) and (match := _LOCAL.fullmatch(value)):
            yield match[1]
        elif name in _HERE:
            yield from _references_here(value)
        elif name in _HERE_LISTS and isinstance(value, list):
            for inner in value:
                yield from _references_here(inner)
        elif name == "dependentSchemas" and isinstance(value, dict):
            for inner in value.values():
                yield from _references_here(inner)
