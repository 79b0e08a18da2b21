"""What a task says is checked field by field before anything is made of it."""

from __future__ import annotations

from typing import Any

import pytest

from app.errors import InvalidInput
from tests.fixtures.desk import Desk


@pytest.mark.parametrize(
    ("fields", "path"),
    [
        ({"title": " "}, "title"),
        ({"title": "x" * 201}, "title"),
        ({"instructions": ""}, "instructions"),
        ({"instructions": "x" * 100_001}, "instructions"),
        ({"instructions": "a\x00b"}, "instructions"),
        ({"max_tokens": -1}, "max_tokens"),
        ({"max_tool_calls": -1}, "max_tool_calls"),
        ({"timeout_seconds": 0}, "timeout_seconds"),
        ({"budget_usd": "-1"}, "budget_usd"),
        ({"budget_usd": "0.0000001"}, "budget_usd"),
        ({"input_artifacts": ["just some words"]}, "input_artifacts.0"),
        ({"input_artifacts": ["memory:1"] * 51}, "input_artifacts"),
        ({"model_tier": 3}, "model_tier"),
    ],
)
async def test_bad_input_is_named(desk: Desk, fields: dict[str, Any], path: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        await desk.delegate("kyra", "luke", **fields)

    assert [problem["path"] for problem in refused.value.problems] == [path]
    assert await desk.count() == 0


async def test_references_are_taken(desk: Desk) -> None:
    given = ["artifact:1", "memory:x", "file:a/b.md", "task:0190", "https://example.org/a"]

    assert (await desk.delegate("kyra", "luke", input_artifacts=given)).input_artifacts == given
