"""Whether the parameters of a request fit its template. Pure."""

from __future__ import annotations

from typing import Any

from app.errors import DocumentProblem
from app.reports.templates import MOST_ITEM, MOST_ITEMS, MOST_TEXT, Parameter, Template


def unfit(template: Template, given: dict[str, Any]) -> list[DocumentProblem]:
    """What is wrong with them, by name; nothing when they fit."""
    known = {one.name: one for one in template.parameters}
    found = [
        DocumentProblem(f"parameters.{name[:60]}", f"is unknown; {template.type.value} takes {', '.join(known)}")
        for name in given
        if name not in known
    ]
    for one in template.parameters:
        problem = _problem(one, given.get(one.name))
        if problem:
            found.append(DocumentProblem(f"parameters.{one.name}", problem))
    return found


def _problem(one: Parameter, value: Any) -> str | None:
    if value is None:
        return "is needed" if one.required else None
    if one.many:
        return _problem_of_list(one, value)
    if not isinstance(value, str) or not 1 <= len(value.strip()) <= MOST_TEXT:
        return f"must be a text of 1 to {MOST_TEXT:,} characters"
    if one.choices and value not in one.choices:
        return f"must be one of {', '.join(one.choices)}"
    return None


def _problem_of_list(one: Parameter, value: Any) -> str | None:
    if not isinstance(value, list) or not one.least <= len(value) <= MOST_ITEMS:
        return f"must be a list of {one.least} to {MOST_ITEMS} texts"
    fits = all(isinstance(item, str) and 1 <= len(item.strip()) <= MOST_ITEM for item in value)
    return None if fits else f"must be a list of texts, each 1 to {MOST_ITEM} characters"
