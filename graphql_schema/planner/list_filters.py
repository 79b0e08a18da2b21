"""Filters on what hangs on a row: `where: {candidates: {some: {skillMatch: {gt: 0.8}}}}`."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import strawberry
from sqlalchemy import ColumnElement
from strawberry.types.base import get_object_definition

from graphql_schema.planner.mapping import PLAN, Many, lazily

_QUANTIFIERS = {"some": "At least one of them is like this.", "none": "None of them is like this."}


@dataclass(frozen=True, slots=True)
class ListFilter:
    """The type of the rows that hang on a row, and how they do."""

    node: str
    module: str
    on: Callable[..., ColumnElement[bool]]


ListFilters = dict[str, tuple[ListFilter, str]]  # python name → what to compile, and the field's description


def list_filters(cls: type) -> ListFilters:
    """Those of the connections that a mapped type declares with `filter`."""
    found: ListFilters = {}
    for field in get_object_definition(cls, strict=True).fields:
        plan = field.metadata.get(PLAN)
        if isinstance(plan, Many) and plan.filter:
            assert plan.on is not None
            connection: Any = field.type
            node = connection.type_name.removesuffix("Connection")
            found[field.python_name] = (ListFilter(node, connection.module, plan.on), field.description or "")
    return found


def list_members(name: str, module: str, lists: ListFilters) -> dict[str, tuple[Any, Any]]:
    """The members of a type's filter, each of an input type of its own beside the type."""
    members: dict[str, tuple[Any, Any]] = {}
    for python, (among, description) in lists.items():
        own = lazily(f"{among.node}Filter", among.module) | None
        made = type(
            f"{name}{python.title().replace('_', '')}Filter",
            (),
            {
                **{
                    word: strawberry.field(default=strawberry.UNSET, description=text)
                    for word, text in _QUANTIFIERS.items()
                },
                "__annotations__": dict.fromkeys(_QUANTIFIERS, own),
                "__module__": module,
            },
        )
        kind = strawberry.input(made, description=f"Conditions on the {among.node} items; all given ones must hold.")
        setattr(sys.modules[module], kind.__name__, kind)
        members[python] = (kind | None, strawberry.field(default=strawberry.UNSET, description=description))
    return members
