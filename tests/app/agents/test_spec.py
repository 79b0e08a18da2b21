"""An agent's fields are checked together, and every wrong one is named."""

from __future__ import annotations

from typing import Any

import pytest

from app.agents.spec import parse_agent
from app.errors import InvalidInput


@pytest.mark.parametrize(
    ("fields", "path"),
    [
        ({"slug": "A b"}, "slug"),
        ({"slug": "-a"}, "slug"),
        ({"slug": "a\n"}, "slug"),
        ({"slug": "user"}, "slug"),
        ({"name": " "}, "name"),
        ({"name": "x" * 121}, "name"),
        ({"name": "a\x00b"}, "name"),
        ({"name": "\ud800"}, "name"),
        ({"tools": ["a\x00b"]}, "tools.0"),
        ({"type": "custom"}, "custom_type"),
        ({"custom_type": "cook"}, "custom_type"),
        ({"type": "wizard"}, "type"),
        ({"traits": {"humor": 1.1}}, "traits.humor"),
        ({"traits": {"humor": float("nan")}}, "traits.humor"),
        ({"model_tier": 3}, "model_tier"),
        ({"skills": [{"name": "SQL"}, {"name": "sql"}]}, "skills"),
        ({"skills": [{"name": "x"}] * 51}, "skills"),
        ({"colour": "red"}, "colour"),
    ],
)
def test_a_wrong_field_is_named(fields: dict[str, Any], path: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        parse_agent({"slug": "ada", "name": "Ada"} | fields)

    assert [problem["path"] for problem in caught.value.problems] == [path]


def test_all_wrong_fields_are_named_at_once() -> None:
    with pytest.raises(InvalidInput) as caught:
        parse_agent({"slug": "A", "name": "", "model_tier": 9})

    assert [problem["path"] for problem in caught.value.problems] == ["slug", "name", "model_tier"]
