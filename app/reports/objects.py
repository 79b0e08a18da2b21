"""Sections of a JSON object, wherever in the text it stands and however its values are made. Pure."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from typing import Any

from app.reports.parsing import Part, name_of, shown, storable

_NAMES, _CONTENTS = ("name", "title", "heading", "section"), ("content", "text", "body", "value")
_FENCE = "```"
_DEEPEST = 8
_INDENT = "  "


def parse_json(text: str, known: Collection[str]) -> list[Part]:
    """`{"summary": "…"}`, `{"sections": {…}}` or `{"sections": [{"name": "summary", "content": "…"}]}`."""
    found = _object(text)
    if found is None:
        return []
    inner = next((value for key, value in found.items() if name_of(key) == "sections"), None)
    if isinstance(inner, list):
        pairs = [_pair(one) for one in inner if isinstance(one, dict)]
    else:
        pairs = list((inner if isinstance(inner, dict) else found).items())
    cleaned = ((storable(name), value) for name, value in pairs)
    return [Part(name_of(name), shown(name), _written(value)) for name, value in cleaned]


def has_object(text: str) -> bool:
    return _object(storable(text)) is not None


def _object(text: str) -> dict[str, Any] | None:
    """The first object that can be read: the whole, what is fenced, or what stands between the outermost braces."""
    for candidate in _candidates(text):
        try:
            value = json.loads(candidate)
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict):
            return value
    return None


def _candidates(text: str) -> Iterator[str]:
    yield text
    opened = text.find(_FENCE)
    begins = text.find("\n", opened) if opened >= 0 else -1
    closed = text.find(_FENCE, begins) if begins >= 0 else -1
    if closed >= 0:
        yield text[begins:closed]
    first, last = text.find("{"), text.rfind("}")
    if 0 <= first < last:
        yield text[first : last + 1]


def _pair(one: dict[str, Any]) -> tuple[str, Any]:
    name = next((one[key] for key in _NAMES if isinstance(one.get(key), str)), "")
    return name, next((one[key] for key in _CONTENTS if key in one), "")


def _written(value: Any, depth: int = 0) -> str:
    """A value as text: lists and objects as points below each other."""
    if value is None:
        return ""
    if isinstance(value, str):
        return storable(value)
    if depth >= _DEEPEST or not isinstance(value, list | dict):
        return storable(json.dumps(value, ensure_ascii=False)) if depth < _DEEPEST else "…"
    if isinstance(value, list):
        return "\n".join(_point("", item, depth) for item in value)
    return "\n".join(_point(f"{storable(shown(str(key)))}: ", item, depth) for key, item in value.items())


def _point(label: str, item: Any, depth: int) -> str:
    inner = _written(item, depth + 1)
    if isinstance(item, list | dict) and inner:
        below = "\n".join(_INDENT + line for line in inner.splitlines())
        return f"- {label.rstrip()}\n{below}" if label else f"-\n{below}"
    return f"- {label}{inner}"
