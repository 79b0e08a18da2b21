"""Turns YAML text into plain values and remembers their lines.

Built on the parser's events, not on its loader: what could cost more than it weighs (aliases, deep nesting) or run code
(tags) is met before anything is made of it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

import yaml

from app.errors import FieldProblem
from app.team_files.places import WHOLE_FILE, Places, join
from app.team_files.scalars import Scalar, resolve

MAX_BYTES = 1_000_000
MAX_DEPTH = 20
# The C parser is some twenty times faster and reports the same lines.
_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
# Their keys are names of the team's choice, so one without a value is a mistake.
_FREE_NAMES = ("context_variables", "runtime_variables", "input_variables")
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


@dataclass(slots=True)
class Document:
    """`broken`: the reading ended at the last problem, and what was read before it is not worth examining."""

    data: Any = None
    broken: bool = False
    places: Places = field(default_factory=Places)
    problems: list[FieldProblem] = field(default_factory=list)


@dataclass(slots=True)
class _Open:
    """A collection that is being filled."""

    path: str
    values: Any
    key: str | None = None
    keys: dict[str, int] = field(default_factory=dict)
    repeated: bool = False


class Unreadable(Exception):
    def __init__(self, message: str, line: int, path: str = WHOLE_FILE) -> None:
        super().__init__(message)
        self.problem = FieldProblem(path, message, line)


def read(text: str) -> Document:
    """Never raises: what is wrong stands in the document's problems."""
    builder = _Builder()
    document = builder.document
    try:
        _refuse_unprintable(text)
        for event in yaml.parse(text, Loader=_LOADER):
            builder.take(event)
    except (Unreadable, yaml.MarkedYAMLError) as error:
        document.broken = True
        document.problems.append(error.problem if isinstance(error, Unreadable) else _syntax_problem(text, error))
    return document


class _Builder:
    def __init__(self) -> None:
        self.document = Document()
        self._open: list[_Open] = []
        self._documents = 0

    def take(self, event: Any) -> None:
        line = event.start_mark.line + 1
        match event:
            case yaml.DocumentStartEvent():
                self._documents += 1
                if self._documents > 1:
                    raise Unreadable("holds a second YAML document; a team file is one", line)
            case yaml.AliasEvent():
                self._complain("is an alias (*); write it out, team files take no anchors", line)
                self._put(None, line)
            case yaml.ScalarEvent():
                self._refuse_extras(event, line)
                self._take_scalar(event, line)
            case yaml.MappingStartEvent() | yaml.SequenceStartEvent():
                self._refuse_extras(event, line)
                self._begin({} if isinstance(event, yaml.MappingStartEvent) else [], line)
            case yaml.MappingEndEvent() | yaml.SequenceEndEvent():
                self._open.pop()

    def _take_scalar(self, event: yaml.ScalarEvent, line: int) -> None:
        if self._wants_key():
            self._take_key(event.value, line)
        else:
            self._put(self._value(event, line), line)

    def _take_key(self, key: str, line: int) -> None:
        top = self._open[-1]
        top.key, top.repeated = key, key in top.keys
        if top.repeated:
            self._complain(f"stands here a second time; the first is on line {top.keys[key]}", line)
        top.keys.setdefault(key, line)
        self.document.places.note(join(top.path, key), line)

    def _value(self, event: yaml.ScalarEvent, line: int) -> Scalar:
        if _UNSTORABLE.search(event.value):
            self._complain("holds a character that cannot be stored (NUL or half of a surrogate pair)", line)
            return "?"
        if not event.implicit[0]:  # quoted
            return event.value
        try:
            return resolve(event.value)
        except ValueError as error:
            self._complain(str(error), line)
            return 0

    def _begin(self, values: Any, line: int) -> None:
        if self._wants_key():
            raise Unreadable("a key must be a single word", line, self._open[-1].path or WHOLE_FILE)
        path = self._path()
        self._put(values, line)
        self._open.append(_Open(path, values))
        if len(self._open) > MAX_DEPTH:
            raise Unreadable(f"is nested deeper than {MAX_DEPTH} levels", line)

    def _put(self, value: Any, line: int) -> None:
        if self._wants_key():
            raise Unreadable("a key must be a single word", line, self._open[-1].path or WHOLE_FILE)
        self.document.places.note(self._path(), line)
        if not self._open:
            self.document.data = value
            return
        top = self._open[-1]
        if isinstance(top.values, list):
            top.values.append(value)
            return
        # A key without a value says nothing, as if it were not there.
        if not top.repeated and (value is not None or top.path in _FREE_NAMES):
            top.values[top.key] = value
        top.key = None

    def _wants_key(self) -> bool:
        return bool(self._open) and isinstance(self._open[-1].values, dict) and self._open[-1].key is None

    def _path(self) -> str:
        if not self._open:
            return ""
        top = self._open[-1]
        return join(top.path, len(top.values) if isinstance(top.values, list) else top.key or "")

    def _refuse_extras(self, event: Any, line: int) -> None:
        if event.anchor is not None:
            self._complain("carries an anchor (&); write the value out, team files take no anchors", line)
        if event.tag is not None:
            self._complain(f"carries the tag {event.tag}; team files take no tags", line)

    def _complain(self, message: str, line: int) -> None:
        self.document.problems.append(FieldProblem(self._path() or WHOLE_FILE, message, line))


def _refuse_unprintable(text: str) -> None:
    found = yaml.reader.Reader.NON_PRINTABLE.search(text)
    if found is not None:
        line = text.count("\n", 0, found.start()) + 1
        raise Unreadable(f"holds the unprintable character U+{ord(found.group()):04X}", line)


def _syntax_problem(text: str, error: yaml.MarkedYAMLError) -> FieldProblem:
    lines = text.splitlines() or [""]
    mark = error.problem_mark or error.context_mark
    row, column = (min(mark.line, len(lines) - 1), mark.column) if mark else (0, 0)
    words = f"{error.problem or error.context} (column {column + 1})"
    if error.problem and error.context and error.context_mark and error.context_mark.line != row:
        words += f", {error.context} that begins on line {error.context_mark.line + 1}"
    if lines[row][: column + 1].endswith("\t"):
        words = f"a tab may not indent (column {column + 1}); use spaces"
    elif "mapping values are not allowed" in words:
        words += "; a text with ': ' in it needs quotes"
    return FieldProblem(WHOLE_FILE, words, row + 1)
