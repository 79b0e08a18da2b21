"""Whether a document fits a schema is said field by field, in bounded time, whoever wrote the two."""

from __future__ import annotations

from typing import Any

import pytest
from jsonschema import Draft202012Validator

from app.contracts.built_in import BUILT_IN
from app.contracts.check import MOST_PROBLEMS, MOST_STEPS, check

REVIEW = BUILT_IN["reviewer"].output_schema
FINDING = {"finding_id": "f1", "severity": "major", "category": "bug", "file": "a.py", "line": 3, "description": "No."}
FITTING: dict[str, Any] = {
    "verdict": "changes_requested",
    "findings": [FINDING],
    "verification": {"tests_passed": True, "type_check_passed": False, "custom_checks": {"licence": True}},
    "summary": "One thing to mend.",
}


def told(schema: dict[str, Any], value: Any) -> dict[str, str]:
    return {problem["path"]: problem["message"] for problem in check(schema, value)}


def test_a_fitting_review_has_no_problem() -> None:
    assert check(REVIEW, FITTING) == []


@pytest.mark.parametrize(
    ("change", "problems"),
    [
        ({"verdict": "fine"}, {"verdict": "must be one of approved, changes_requested, rejected"}),
        ({"summary": ""}, {"summary": "must be at least 1 characters long"}),
        ({"mood": "good"}, {"mood": "is not a known field"}),
        (
            {"findings": [FINDING, {**FINDING, "severity": "urgent", "line": 0}]},
            {
                "findings.1.severity": "must be one of critical, major, minor, suggestion",
                "findings.1.line": "must be at least 1",
            },
        ),
        ({"findings": [{}]}, {f"findings.0.{name}": "is missing" for name in FINDING if name != "line"}),
        ({"findings": [{**FINDING, "line": "3"}]}, {"findings.0.line": "must be of type integer or null"}),
        (
            {"verification": {"tests_passed": "yes", "type_check_passed": True, "custom_checks": {"a": 1}}},
            {
                "verification.tests_passed": "must be of type boolean",
                "verification.custom_checks.a": "must be of type boolean",
            },
        ),
    ],
)
def test_every_field_that_does_not_fit_is_named(change: dict[str, Any], problems: dict[str, str]) -> None:
    assert told(REVIEW, FITTING | change) == problems


@pytest.mark.parametrize(
    ("schema", "value", "problems"),
    [
        ({"type": "object"}, [], {"": "must be of type object"}),
        ({"properties": {"a": {"const": {"b": 1}}}}, {"a": 1}, {"a": 'must be {"b":1}'}),
        ({"properties": {"a": {"pattern": "^x+$"}}}, {"a": "xy"}, {"a": "must match ^x+$"}),
        ({"properties": {"a": {"uniqueItems": True}}}, {"a": [1, True, 1.0]},
         {"a": "must not hold the same item twice"}),
        ({"properties": {"a": {"uniqueItems": True}}}, {"a": [1, True, "1", {"x": 1}]}, {}),
        ({"propertyNames": {"maxLength": 1}}, {"ab": 1},
         {"": "has a field whose name must be at most 1 characters long"}),
        ({"additionalProperties": {"type": "null"}, "properties": {"a": True}}, {"a": 1, "b": 1},
         {"b": "must be of type null"}),
        ({"properties": {"a": False}}, {"a": 1}, {"a": "must not be there"}),
        ({"oneOf": [{"required": ["a"]}, {"required": ["b"]}]}, {"a": 1, "b": 1},
         {"": "fits more than one of the allowed forms"}),
        ({"anyOf": [{"properties": {"kind": {"const": "x"}, "n": {"type": "null"}}},
                    {"properties": {"kind": {"const": "y"}, "n": {"minimum": 5}}}]}, {"kind": "y", "n": 1},
         {"n": "must be at least 5"}),
        ({"anyOf": [{"required": ["a"]}, {"required": ["b"]}]}, {}, {"": "fits none of the 2 allowed forms"}),
        ({"$schema": "https://json-schema.org/draft/2020-12/schema", "required": ["a"]}, {}, {"a": "is missing"}),
    ],
)  # fmt: skip
def test_each_keyword_says_what_to_mend(schema: dict[str, Any], value: Any, problems: dict[str, str]) -> None:
    assert told(schema, value) == problems
    assert bool(problems) is not Draft202012Validator(schema).is_valid(value)


def test_of_many_problems_the_first_are_told_and_none_is_long() -> None:
    schema = {"additionalProperties": False, "properties": {"a": {"enum": ["x" * 500] * 50}}}

    problems = check(schema, {"a": "y" * 100_000, **{"k" * 5_000 + str(number): 1 for number in range(50)}})

    assert len(problems) <= MOST_PROBLEMS
    assert max(len(problem["path"]) + len(problem["message"]) for problem in problems) < 1_500


DOUBLING = {f"d{n}": {"allOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(50)} | {"d50": {"type": "object"}}
NESTED: dict[str, Any] = {}
for _ in range(400):
    NESTED = {"a": NESTED}


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"$ref": "#/$defs/d0", "$defs": DOUBLING}, {}),
        ({"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/a"}}}, {}),
        ({"$ref": "#/$defs/a", "$defs": {"a": {"properties": {"a": {"$ref": "#/$defs/a"}}}}}, NESTED),
        ({"properties": {"k": {"items": {"pattern": "([ab]*a[ab]{40}){20}|."}}}}, {"k": ["ab" * 900] * 500}),
        ({"properties": {"k": {"items": {"anyOf": [{"type": "null"}] * 400 + [{"type": "array"}]}}}},
         {"k": [["x"] * 5_000] * 300}),
        ({"properties": {"k": {"items": {"not": {"const": [0] * 5_000}}}}}, {"k": [[0] * 4_999 + [1]] * 100}),
        ({"properties": {"k": {"uniqueItems": True}}}, {"k": [{"a": n} for n in range(60_000)]}),
    ],
)  # fmt: skip
def test_what_would_take_for_ever_is_given_up_soon(schema: dict[str, Any], value: Any) -> None:
    """No clock is asked: each of these would outlast the test's own time limit by far, or break the stack."""
    (problem,) = check(schema, value)

    assert problem["message"] in {
        f"takes more than {MOST_STEPS:,} steps to check: give less, or ask for less",
        "is nested too deeply to be checked",
    }


@pytest.mark.parametrize("pattern", ["(a+)+$", "(a|aa)+$", "(.*)*x", "^(([a-z])+.)+[A-Z]([a-z])+$"])
def test_patterns_cannot_run_away(pattern: str) -> None:
    assert told({"properties": {"a": {"pattern": pattern}}}, {"a": "a" * 1_999 + "!"}) == {"a": f"must match {pattern}"}


def test_a_thousand_findings_are_within_the_bound() -> None:
    assert check(REVIEW, FITTING | {"findings": [FINDING] * 1_000}) == []
