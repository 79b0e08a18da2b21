"""What a contract may say is checked before it is kept: nothing remote, nothing unbounded, nothing misspelt."""

from __future__ import annotations

import hashlib
from typing import Any

import orjson
import pytest

from app.contracts.built_in import BUILT_IN
from app.contracts.schemas import DIALECT, problems_with
from app.contracts.spec import parse_contract
from app.errors import InvalidInput

DEEP: dict[str, Any] = {"type": "object"}
for _ in range(20):
    DEEP = {"type": "object", "properties": {"x": DEEP}}


def with_x(rule: Any, **more: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {"x": rule}, **more}


@pytest.mark.parametrize(
    ("schema", "path", "says"),
    [
        ({}, "type", 'must be "object"'),
        ({"type": "array"}, "type", 'must be "object"'),
        (with_x({"type": "strin"}), "properties.x.type", "must be one of array, boolean"),
        (with_x({"minLength": -1}), "properties.x.minLength", "must be at least 0"),
        (with_x(7), "properties.x", "must be of type object or boolean"),
        (with_x({"requierd": ["y"]}), "properties.x.requierd", "is not a keyword"),
        (with_x({"$ref": "https://example.org/s.json"}), "properties.x.$ref", "nothing is fetched"),
        (with_x({"$ref": "#"}), "properties.x.$ref", "nothing is fetched"),
        (with_x({"$ref": "#/$defs/y"}), "properties.x.$ref", "there is no 'y' in $defs"),
        (with_x({"items": {"$id": "x"}}), "properties.x.items.$id", "is not taken"),
        (with_x({"$schema": DIALECT}), "properties.x.$schema", "at the top only"),
        (with_x({"$defs": {}}), "properties.x.$defs", "at the top only"),
        (with_x(True, **{"$schema": "http://json-schema.org/draft-07/schema#"}), "$schema", "2020-12"),
        (with_x({"patternProperties": {"(a+)+$": True}}), "properties.x.patternProperties", "bounded time"),
        (with_x({"unevaluatedProperties": False}), "properties.x.unevaluatedProperties", "bounded time"),
        (with_x({"pattern": "(?=a)b"}), "properties.x.pattern", "look-around"),
        (with_x({"pattern": r"(a)\1"}), "properties.x.pattern", "backreferences"),
        (with_x({"pattern": "(a{1000}){1000}"}), "properties.x.pattern", "size limit"),
        (with_x({"pattern": "["}), "properties.x.pattern", "unclosed"),
        (with_x({"pattern": "a" * 201}), "properties.x.pattern", "at most 200"),
        (with_x({"enum": list(range(1_001))}), "properties.x.enum", "at most 1,000"),
        (with_x({"anyOf": [{}] * 500}), "", "more than 500 subschemas"),
        (with_x(True, **{"$defs": {"a": {"not": {"$ref": "#/$defs/a"}}}}), "$defs.a", "without end"),
        (with_x({"description": "y" * 64_000}), "", "at most 64,000"),
        (with_x({"const": "a\0b"}), "properties.x.const", "null character"),
        (DEEP, "properties.x." * 10 + "properties", "20 deep"),
    ],
)  # fmt: skip
def test_what_cannot_be_kept_is_named(schema: dict[str, Any], path: str, says: str) -> None:
    with pytest.raises(InvalidInput, match=says.replace("$", r"\$").replace("(", r"\(")) as refused:
        parse_contract({"name": "mine", "output_schema": schema})

    assert refused.value.problems[0]["path"] == ".".join(filter(None, ("outputSchema", path)))
    assert len(refused.value.message) < 10_000


def test_a_tree_may_refer_to_itself() -> None:
    tree = {"type": "object", "properties": {"kids": {"type": "array", "items": {"$ref": "#/$defs/tree"}}}}

    assert problems_with({**tree, "$defs": {"tree": tree}, "x-remark": 1}, "inputSchema") == []


@pytest.mark.parametrize(
    ("fields", "path"),
    [
        ({"name": "reviewer", "input_schema": {"type": "object"}}, "name"),
        ({"name": "No Slug", "input_schema": {"type": "object"}}, "name"),
        ({"name": "mine"}, "outputSchema"),
        ({"name": "mine", "input_schema": "text"}, "input_schema"),
        ({"name": "mine", "description": "x" * 2_001, "input_schema": {"type": "object"}}, "description"),
    ],
)
def test_other_fields_are_named_too(fields: dict[str, Any], path: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        parse_contract(fields)

    assert [problem["path"] for problem in refused.value.problems] == [path]


def test_what_is_built_in_keeps_to_the_same_rules() -> None:
    for contract in BUILT_IN.values():
        assert problems_with(contract.input_schema, "inputSchema") == []
        assert problems_with(contract.output_schema, "outputSchema") == []


def test_what_is_built_in_changes_with_its_version_only() -> None:
    """Teams keep what they were given: a changed schema under the old number would reach new teams alone."""
    said = {
        f"{one.name} {one.version}": hashlib.sha256(
            orjson.dumps([one.input_schema, one.output_schema], option=orjson.OPT_SORT_KEYS)
        ).hexdigest()[:16]
        for one in BUILT_IN.values()
    }

    assert said == {"developer 1": "b2faaa82f2a5af35", "reviewer 1": "92ae81a9014baa07"}, (
        "raise the version in app/contracts/built_in.py"
    )
