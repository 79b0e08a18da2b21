"""What a message may hold: parts in words, as data or by reference, within limits. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from app.errors import InvalidInput, check_text
from app.tasks.spec import MAX_ARTIFACTS, REFERENCE

MAX_TEXT = 50_000  # characters of all parts together
MAX_PARTS = 50
MAX_REFERENCE = 2_000
_REFERENCE = re.compile(REFERENCE)
_NULL = re.compile(r"(?<!\\)(?:\\\\)*\\u0000")  # in JSON: an escape, not a backslash that stands before u0000
_A_REFERENCE = "must be a reference: artifact:…, memory:…, file:…, task:…, http://… or https://…"


@dataclass(frozen=True, slots=True)
class Content:
    """A message's parts as they are kept and shown, what they say in words, and references to large content."""

    parts: tuple[dict[str, Any], ...]
    text: str
    artifacts: tuple[str, ...] = ()


def in_words(text: str, artifacts: Sequence[str] = (), data: Any = None) -> Content:
    """Content of our own making, which is not checked."""
    parts: list[dict[str, Any]] = [{"type": "TEXT", "text": text}]
    if data is not None:
        parts.append({"type": "DATA", "data": data})
    return Content(tuple(parts), text, tuple(artifacts))


def parse_content(text: str | None, parts: Sequence[dict[str, Any]], artifacts: Sequence[str]) -> Content:
    """`text` is a first part in words. Raises InvalidInput."""
    given = ([{"text": text}] if text is not None else []) + list(parts)
    if not 1 <= len(given) <= MAX_PARTS:
        raise InvalidInput.of("parts", f"a message has 1 to {MAX_PARTS} parts, of which text is one")
    if len(artifacts) > MAX_ARTIFACTS:
        raise InvalidInput.of("artifacts", f"must be at most {MAX_ARTIFACTS}")
    offset = len(given) - len(parts)
    made = [_part(part, "text" if at < offset else f"parts.{at - offset}") for at, part in enumerate(given)]
    said = "\n\n".join(_said(part) for part in made)
    if len(said) > MAX_TEXT:
        raise InvalidInput.of(
            "text", f"has {len(said):,} characters; at most {MAX_TEXT:,} are allowed. Send large content by reference."
        )
    for at, one in enumerate(artifacts):
        _check_reference(one, f"artifacts.{at}")
    return Content(tuple(made), said, tuple(artifacts))


def _part(part: dict[str, Any], path: str) -> dict[str, Any]:
    filled = {name: value for name, value in part.items() if value is not None}
    if len(filled) != 1:
        raise InvalidInput.of(path, "must have exactly one of text, data and reference")
    ((kind, value),) = filled.items()
    if kind == "text":
        value = check_text(path, value, least=1, most=MAX_TEXT)
    elif kind == "reference":
        _check_reference(value, path)
    elif _NULL.search(json.dumps(value)):
        raise InvalidInput.of(path, "must not contain a null character")
    return {"type": kind.upper(), kind: value}


def _said(part: dict[str, Any]) -> str:
    if part["type"] == "DATA":
        return json.dumps(part["data"], ensure_ascii=False)
    return str(part.get("text") or part.get("reference"))


def _check_reference(text: str, path: str) -> None:
    if len(text) > MAX_REFERENCE or not _REFERENCE.fullmatch(text):
        raise InvalidInput.of(path, _A_REFERENCE)
