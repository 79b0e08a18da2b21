"""Says which fields of a document do not fit a schema: values in, problems out.

The work is counted in steps and bounded, whatever the schema and the document; a step takes some microseconds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any

import orjson
from jsonschema import Draft202012Validator, ValidationError
from jsonschema.validators import extend
from referencing import Registry

from app.contracts import patterns
from app.contracts.documents import join
from app.contracts.wording import said
from app.errors import DocumentProblem, FieldProblem

MOST_STEPS = 100_000
MOST_PROBLEMS = 20

Keyword = Callable[[Any, Any, Any, Any], Iterator[ValidationError] | None]


def check(schema: dict[str, Any], value: Any) -> list[FieldProblem]:
    """At most 20 problems, none when the document fits. Paths are in the document's own words, `findings.0.severity`;
    empty for the document as a whole."""
    meter = _Meter()
    keywords = {name: meter.counted(name, how) for name, how in (Draft202012Validator.VALIDATORS | _OWN).items()}
    # A schema's `$schema` would make the library go back to its own, uncounted keywords.
    rules = {name: part for name, part in schema.items() if name != "$schema"}
    validator = extend(Draft202012Validator, keywords)(_quiet(rules), registry=Registry())  # type: ignore[no-untyped-call]
    try:
        return problems_of(validator.iter_errors(_quiet(value)))
    except _TooMuchWork:
        return [DocumentProblem("", f"takes more than {MOST_STEPS:,} steps to check: give less, or ask for less")]
    except RecursionError:
        return [DocumentProblem("", "is nested too deeply to be checked")]


def problems_of(errors: Iterable[ValidationError], at: str = "") -> list[FieldProblem]:
    """The library's findings in our words, each once; `at` is where the document stands in the input."""
    found: dict[tuple[str, str], FieldProblem] = {}
    for leaf in islice((leaf for error in errors for leaf in _leaves(error)), MOST_PROBLEMS):
        path, message = join(at, *leaf.absolute_path), said(leaf)
        found[path, message] = DocumentProblem(path, message)
    return list(found.values())


def _leaves(error: ValidationError) -> Iterator[ValidationError]:
    """Where one of several allowed forms is clearly meant, what is wrong with that one; else the error itself."""
    meant = _form_meant(error) if error.validator in {"anyOf", "oneOf"} else None
    if meant is None:
        yield error
        return
    for inner in meant:
        yield from _leaves(inner)


def _form_meant(error: ValidationError) -> list[ValidationError] | None:
    forms: dict[Any, list[ValidationError]] = {}
    for inner in error.context or ():
        forms.setdefault(inner.schema_path[0], []).append(inner)
    for speaks_against in (_is_of_another_kind, _is_of_another_type):
        left = [errors for errors in forms.values() if not any(map(speaks_against, errors))]
        if len(left) == 1:
            return left[0]
    return None


def _is_of_another_kind(error: ValidationError) -> bool:
    """A constant may be a field's that tells the forms apart, such as `kind`."""
    deep = len(error.relative_path)
    return (deep == 0 and error.validator in {"type", "enum"}) or (deep <= 1 and error.validator == "const")


def _is_of_another_type(error: ValidationError) -> bool:
    return not error.relative_path and error.validator == "type"


class _TooMuchWork(Exception):
    pass


class _Meter:
    def __init__(self) -> None:
        self._left = MOST_STEPS

    def counted(self, name: str, keyword: Keyword) -> Keyword:
        def run(validator: Any, rule: Any, value: Any, schema: Any) -> Iterator[ValidationError]:
            self._left -= _steps(name, rule, value)
            if self._left < 0:
                raise _TooMuchWork
            yield from keyword(validator, rule, value, schema) or ()

        return run


def _steps(name: str, rule: Any, value: Any) -> int:
    if name in {"enum", "const"}:
        return 1 + _weight(rule)
    if name == "uniqueItems":
        return 1 + _weight(value)
    if name == "pattern" and isinstance(value, str):
        return 1 + len(value)
    if name == "$ref":
        return 5
    return 1 + sum(len(part) // 8 for part in (rule, value) if isinstance(part, dict | list))


def _weight(value: Any) -> int:
    if isinstance(value, dict):
        return 1 + sum(_weight(item) for item in value.values())
    if isinstance(value, list):
        return 1 + sum(map(_weight, value))
    return 1 + len(value) // 100 if isinstance(value, str) else 1


class _QuietDict(dict[str, Any]):
    """The library writes every value that it complains about into its message: of a large one it should be brief."""

    def __repr__(self) -> str:
        return "{…}"


class _QuietList(list[Any]):
    def __repr__(self) -> str:
        return "[…]"


class _QuietText(str):
    def __repr__(self) -> str:
        return "'…'"


def _quiet(value: Any) -> Any:
    if isinstance(value, dict):
        return _QuietDict({name: _quiet(item) for name, item in value.items()})
    if isinstance(value, list):
        return _QuietList(map(_quiet, value))
    return _QuietText(value) if isinstance(value, str) and len(value) > 100 else value


def _required(validator: Any, names: Any, value: Any, schema: Any) -> Iterator[ValidationError]:
    if validator.is_type(value, "object"):
        yield from (ValidationError("is missing", path=(name,)) for name in names if name not in value)


def _properties(validator: Any, rules: Any, value: Any, schema: Any) -> Iterator[ValidationError]:
    """The library's own does not say which field it is that `false` rules out."""
    if not validator.is_type(value, "object"):
        return
    for name, rule in rules.items():
        if name in value and rule is False:
            yield ValidationError("must not be there", path=(name,))
        elif name in value:
            yield from validator.descend(value[name], rule, path=name, schema_path=name)


def _additional_properties(validator: Any, rule: Any, value: Any, schema: Any) -> Iterator[ValidationError]:
    if not validator.is_type(value, "object"):
        return
    known = schema.get("properties", {})
    for name in [name for name in value if name not in known]:
        if rule is False:
            yield ValidationError("is not a known field", path=(name,))
        else:
            yield from validator.descend(value[name], rule, path=name, schema_path=name)


def _pattern(validator: Any, pattern: Any, value: Any, schema: Any) -> Iterator[ValidationError]:
    if validator.is_type(value, "string") and not patterns.matches(str(pattern), str(value)):
        yield ValidationError("does not match")


def _unique_items(validator: Any, wanted: Any, value: Any, schema: Any) -> Iterator[ValidationError]:
    if wanted and validator.is_type(value, "array"):
        forms = {orjson.dumps(_comparable(item), option=orjson.OPT_SORT_KEYS) for item in value}
        if len(forms) < len(value):
            yield ValidationError("repeats")


def _comparable(value: Any) -> Any:
    """To JSON Schema 1.0 is 1; text is turned into itself, without its quiet disguise."""
    if isinstance(value, dict):
        return {str(name): _comparable(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_comparable(item) for item in value]
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**63:
        return int(value)
    return str(value) if isinstance(value, str) else value


_OWN: dict[str, Keyword] = {
    "required": _required,
    "properties": _properties,
    "additionalProperties": _additional_properties,
    "pattern": _pattern,
    "uniqueItems": _unique_items,
}
