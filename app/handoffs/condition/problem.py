"""What is wrong with a condition, and where."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from difflib import get_close_matches


@dataclass(frozen=True, slots=True)
class Span:
    """From `start` to before `end`, in characters from 0."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class ConditionProblem:
    """`line` and `column` count from 1, `offset` and `length` are characters; `expected` is what could stand there."""

    message: str
    line: int
    column: int
    offset: int
    length: int
    expected: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"line {self.line}, column {self.column}: {self.message}"

    @property
    def inside(self) -> str:
        """For a condition inside a file, which has lines of its own."""
        place = f"column {self.column}" if self.line == 1 else f"line {self.line}, column {self.column}"
        return f"{self.message} ({place} of the condition)"


class ConditionError(Exception):
    """The condition cannot be read."""

    def __init__(self, problem: ConditionProblem) -> None:
        super().__init__(str(problem))
        self.problem = problem


def problem_at(source: str, span: Span, message: str, expected: tuple[str, ...] = ()) -> ConditionProblem:
    before = source[: span.start]
    return ConditionProblem(
        message=message,
        line=before.count("\n") + 1,
        column=span.start - (before.rfind("\n") + 1) + 1,
        offset=span.start,
        length=max(span.end - span.start, 0),
        expected=expected,
    )


def hint(word: str, known: Collection[str]) -> str:
    close = get_close_matches(word, sorted(known), n=1)
    return f"; did you mean '{close[0]}'?" if close else ""
