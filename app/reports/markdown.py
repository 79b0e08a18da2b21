"""Sections of a Markdown text, however untidy: by its headings, of any kind and depth. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from app.reports.parsing import Part, name_of, shown

_HASHES = re.compile(r"^ {0,3}(#{1,6})[ \t]*([^#\s].*)$")
_LINE_BELOW = re.compile(r"^ {0,3}(=+|-+)[ \t]*$")
_BOLD = re.compile(r"^\s*(?:\d{1,3}[.)]\s+)?(\*\*|__)([^*_].{0,200}?)\1:?\s*$")
_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})")
_WRITTEN_IN = frozenset({"markdown", "md"})
_WRAPS = _WRITTEN_IN | {""}
_LONGEST_UNDERLINED = 80
_BELOW_ALL = 7  # a line in bold is a heading only where it names a section


@dataclass(frozen=True, slots=True)
class Heading:
    line: int
    body: int  # the first line below it
    level: int
    title: str
    name: str


def parse_markdown(text: str, known: Collection[str]) -> list[Part]:
    """Sections start at the level at which the first names of the template stand; a name that does not stand there may
    stand deeper. What comes before the first is the title."""
    lines = _unwrapped(text)
    starts = _starts(list(_headings(lines)), known)
    ends = [heading.line for heading in starts[1:]] + [len(lines)]
    return [
        Part(heading.name, shown(heading.title), "\n".join(lines[heading.body : end]))
        for heading, end in zip(starts, ends, strict=False)
    ]


def _starts(headings: Sequence[Heading], known: Collection[str]) -> list[Heading]:
    named = [one for one in headings if one.name in known]
    if not named:
        return []
    base = min(one.level for one in named)
    at_base = {one.name for one in named if one.level == base}
    deeper: set[str] = set()
    starts = []
    for one in headings[headings.index(named[0]) :]:
        is_new = one.name in known and one.name not in at_base and one.name not in deeper
        if is_new:
            deeper.add(one.name)
        if is_new or (one.level <= base and (one.level < _BELOW_ALL or one.name in known)):
            starts.append(one)
    return starts


def _headings(lines: Sequence[str]) -> Iterator[Heading]:
    fenced = _fenced(lines)
    for place, line in enumerate(lines):
        if place in fenced:
            continue
        below = lines[place + 1] if place + 1 < len(lines) and place + 1 not in fenced else ""
        if found := _HASHES.match(line):
            title = found[2].rstrip().rstrip("#")
            yield Heading(place, place + 1, len(found[1]), title, name_of(title))
        elif found := _BOLD.match(line):
            yield Heading(place, place + 1, _BELOW_ALL, found[2], name_of(found[2]))
        elif _may_be_underlined(line) and (found := _LINE_BELOW.match(below)):
            yield Heading(place, place + 2, 1 if found[1][0] == "=" else 2, line, name_of(line))


def _may_be_underlined(line: str) -> bool:
    """A sentence above a rule is no heading."""
    said = line.strip()
    return 0 < len(said) <= _LONGEST_UNDERLINED and said[0] not in "-*+>|=" and said[-1] not in ".!?|"


def _fenced(lines: Sequence[str]) -> set[int]:
    """The lines of code blocks. A fence that is never closed is none."""
    marks = [(place, found[1]) for place, line in enumerate(lines) if (found := _FENCE.match(line))]
    around = [one for one in marks if lines[one[0]].strip()[len(one[1]) :].strip().casefold() in _WRITTEN_IN]
    if around and len(marks) % 2 == 0:  # somebody fenced the report itself: code blocks are those inside
        marks = [one for one in marks if one != around[0]][:-1]
    inside: set[int] = set()
    opened: tuple[int, str] | None = None
    for place, mark in marks:
        if opened is None:
            opened = (place, mark)
        elif mark.startswith(opened[1]):
            inside.update(range(opened[0], place + 1))
            opened = None
    return inside


def _unwrapped(text: str) -> list[str]:
    """The lines without the fence around the whole, which models like to put there."""
    lines = text.strip().splitlines()
    opens = _FENCE.match(lines[0]) if len(lines) > 1 else None
    if opens and lines[-1].strip() == opens[1] and lines[0].strip()[len(opens[1]) :].strip().casefold() in _WRAPS:
        return lines[1:-1]
    return lines
