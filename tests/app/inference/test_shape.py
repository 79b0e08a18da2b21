"""Objects that the offline model makes fit their schemas, whatever these ask for."""

from __future__ import annotations

from math import inf
from typing import Any

import pytest

from app.config import MODEL_PROVIDERS, load_settings
from app.errors import ConfigurationError
from app.inference.fit import problems, weight
from app.inference.offline.material import MOST_CHARACTERS, Material
from app.inference.offline.shape import Shape
from app.inference.prompt import Assignment, Source
from app.inference.providers import PROVIDERS

TASK = Assignment(
    "analyze", "Caches", "Compare the caches.", context="Valkey is fast. Mail ada@example.org by 2026-05-01."
)


@pytest.mark.parametrize(
    "inner",
    [
        {"type": "string", "minLength": 300, "maxLength": 310},
        {"type": "string", "maxLength": 3},
        {"type": "string", "maxLength": 0},
        {"type": "string", "pattern": "^[a-z]+$"},
        {"type": "string", "pattern": "^[a-z]+$", "maxLength": 40, "format": "odd"},
        {"type": "string", "format": "email"},
        {"type": ["null", "string"]},
        {"type": "integer", "minimum": 10, "maximum": 12},
        {"type": "integer", "exclusiveMinimum": 7, "multipleOf": 4},
        {"type": "number", "exclusiveMaximum": 0.3},
        {"type": "array", "items": {"type": "string"}, "minItems": 7, "uniqueItems": True},
        {"type": "array", "items": {"type": "string"}, "maxItems": 0},
        {"type": "array", "items": {"enum": ["a", "b"]}, "minItems": 1},
        {"type": "array", "items": {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}},
        {"allOf": [{"type": "object", "properties": {"a": {"const": 1}}}, {"required": ["a"]}]},
        {
            "oneOf": [
                {"type": "null"},
                {"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"]},
            ]
        },
        {"$ref": "#/$defs/tree"},
        {"type": "object", "additionalProperties": {"type": "boolean"}},
        {"const": {"exactly": "this"}},
        {},
    ],
)
def test_what_is_made_fits(inner: dict[str, Any]) -> None:
    tree = {"type": "object", "properties": {"label": {"type": "string"}, "below": {"$ref": "#/$defs/tree"}}}
    schema = {"type": "object", "properties": {"value": inner}, "required": ["value"], "$defs": {"tree": tree}}

    made = Shape(schema, Material(TASK, TASK.instructions)).fill()

    assert problems(schema, made) == []
    assert "value" in made


def test_schemas_are_weighed_with_their_references() -> None:
    laughs = {f"n{level}": {"anyOf": [{"$ref": f"#/$defs/n{level + 1}"}] * 10} for level in range(30)} | {"n30": {}}
    ring = {"a": {"items": {"$ref": "#/$defs/b"}}, "b": {"items": {"$ref": "#/$defs/a"}}}

    assert weight({"type": "object", "properties": {"a": {"type": "string"}, "b": {"enum": [1]}}}) == 4
    assert weight({"$ref": "#/$defs/n0", "$defs": laughs}) > 10**30
    assert weight({"$ref": "#/$defs/a", "$defs": ring}) == inf
    assert weight({"properties": {"again": {"$ref": "#"}}}) == inf


def test_demands_without_measure_are_not_met() -> None:
    schema = {
        "type": "object",
        "properties": {
            "text": {"type": "string", "minLength": 10**9},
            "slow": {"type": "string", "pattern": "^(a+)+b$"},
            "list": {"type": "array", "items": {"type": "string"}, "minItems": 10**9},
        },
    }

    made = Shape(schema, Material(TASK, TASK.instructions)).fill()

    assert (len(made["text"]), len(made["list"])) == (10_000, 100)


def test_a_schema_from_elsewhere_is_not_fetched() -> None:
    assert problems({"$ref": "http://127.0.0.1:1/schema.json"}, {}) == [
        "the schema cannot be used: Unresolvable: http://127.0.0.1:1/schema.json"
    ]


def test_material_is_bounded_and_the_first_of_equals_counts() -> None:
    long = Source("a book", "Sentence about caches. " * (MOST_CHARACTERS // 10))
    material = Material(Assignment("summarize", "Caches", "Sum up.", sources=[long]), "Sum up.")

    assert material.points(1)[0].text == "Sentence about caches."
    assert sum(len(one.text) for one in material.sentences) <= MOST_CHARACTERS


@pytest.mark.parametrize("name", ["gpt-5", "openai:", "nobody:model", "", "offline:x"])
def test_a_tier_with_an_unknown_model_stops_the_start_and_names_itself(name: str) -> None:
    with pytest.raises(ConfigurationError, match="PARLEY_MODEL_TIER_1: must be offline or one of anthropic:<model>"):
        load_settings(model_tier_1=name)


def test_the_settings_know_the_providers() -> None:
    assert tuple(PROVIDERS) == MODEL_PROVIDERS
