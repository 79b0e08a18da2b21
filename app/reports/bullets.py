"""Sections of a list: its outermost points that name one, each with what stands below it. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection
from textwrap import dedent

from app.reports.parsing import Part, name_of, shown

_POINT = re.compile(r"^(\s*)(?:[-*+•◦▪–]|\d{1,3}[.)])\s+(.*)$")
_TAB = 4
_LONGEST_LABEL = 120


def parse_bullets(text: str, known: Collection[str]) -> list[Part]:
    """`- Summary: all is well`, `- **Findings**` with points below it, or a heading above points. Points that name no
    section belong to the one above them."""
    lines = [line.expandtabs(_TAB).rstrip() for line in text.splitlines()]
    outermost = min((len(found[1]) for line in lines if (found := _POINT.match(line))), default=0)
    parts: list[tuple[str, list[str]]] = []
    for line in lines:
        label, rest = _label(line, outermost)
        if label and name_of(label) in known:
            parts.append((label, [rest] if rest else []))
        elif parts:
            parts[-1][1].append(line)
    return [Part(name_of(label), shown(label), _together(body)) for label, body in parts]


def _label(line: str, outermost: int) -> tuple[str, str]:
    """What the line may name, and what it says of it; nothing for a line further in."""
    indent = len(line) - len(line.lstrip())
    if not line.strip() or indent > outermost:
        return "", ""
    found = _POINT.match(line)
    said = found[2] if found else line.strip()
    head, colon, rest = said.partition(":")
    if not colon or len(head) > _LONGEST_LABEL:
        head, rest = said[: _LONGEST_LABEL + 1], ""
        return ("", "") if len(said) > _LONGEST_LABEL else (head, rest)
    return head, rest.strip().lstrip("*_").strip()


def _together(body: list[str]) -> str:
    """The first line may come from beside the name; what is below it is moved to the left."""
    if not body or _POINT.match(body[0]) or body[0][:1] == " ":
        return dedent("\n".join(body)).strip()
    return "\n".join(filter(None, (body[0], dedent("\n".join(body[1:])).strip("\n"))))
