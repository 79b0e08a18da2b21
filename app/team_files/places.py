"""Where in a file each field stands."""

from __future__ import annotations

from collections.abc import Iterable

from app.errors import FieldProblem

WHOLE_FILE = "file"


class Places:
    """Lines by dotted path, such as `agents.0.slug`; counted from 1."""

    def __init__(self) -> None:
        self._lines: dict[str, int] = {}

    def note(self, path: str, line: int) -> None:
        self._lines.setdefault(path, line)

    def line(self, path: str) -> int:
        """Of the field; for one that is not in the file, of what it is missing from."""
        while path not in self._lines and path:
            path = path.rpartition(".")[0]
        return self._lines.get(path, 1)

    def located(self, problems: Iterable[FieldProblem]) -> list[FieldProblem]:
        """The same problems with their lines, in the order of the file."""
        return sorted(map(self._located, problems), key=lambda problem: int(problem["line"]))

    def _located(self, problem: FieldProblem) -> FieldProblem:
        line = problem["line"] or self.line(problem["path"])
        return FieldProblem(problem["path"] or WHOLE_FILE, problem["message"], line)


def join(path: str, part: str | int) -> str:
    return f"{path}.{part}" if path else str(part)
