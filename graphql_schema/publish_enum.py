"""Puts a domain enum into the schema, with a description on every value."""

from __future__ import annotations

from enum import Enum
from typing import Any

import strawberry


def publish_enum(kind: type[Enum], description: str, values: dict[Any, str], *, name: str | None = None) -> None:
    """Every member must be described; the domain's class itself becomes the GraphQL enum."""
    strawberry.enum(kind, description=description, name=name)
    missing = set(kind) - set(values)
    assert not missing, f"{kind.__name__} has values without a description: {missing}"
    texts = {member.name: text for member, text in values.items()}
    for value in kind.__strawberry_definition__.values:  # type: ignore[attr-defined]
        value.description = texts[value.name]
