"""What a condition says, as a tree, and how it is written. Writing a tree and reading it again gives the same tree."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from app.handoffs.condition.problem import Span

NOWHERE = Span(0, 0)
COMPLETE = "_complete"


@dataclass(frozen=True, slots=True)
class Number:
    value: int | float
    span: Span = field(default=NOWHERE, compare=False)

    def __str__(self) -> str:
        return str(self.value)


@dataclass(frozen=True, slots=True)
class Text:
    value: str
    span: Span = field(default=NOWHERE, compare=False)

    def __str__(self) -> str:
        escaped = self.value.replace("\\", "\\\\").replace('"', '\\"')
        return f'"{escaped}"'


@dataclass(frozen=True, slots=True)
class Boolean:
    """`true` or `false`: a value to compare with, or a clause that always or never holds."""

    value: bool
    span: Span = field(default=NOWHERE, compare=False)

    def __str__(self) -> str:
        return "true" if self.value else "false"


@dataclass(frozen=True, slots=True)
class Variable:
    """`word_count` or `{{ word_count }}`: the same thing."""

    name: str
    braced: bool = False
    span: Span = field(default=NOWHERE, compare=False)

    def __str__(self) -> str:
        return f"{{{{ {self.name} }}}}" if self.braced else self.name


@dataclass(frozen=True, slots=True)
class Word:
    value: str
    span: Span = field(default=NOWHERE, compare=False)

    def __str__(self) -> str:
        return self.value


Operand = Number | Text | Boolean | Variable


@dataclass(frozen=True, slots=True)
class Comparison:
    left: Operand
    sign: str
    right: Operand

    @property
    def span(self) -> Span:
        return Span(self.left.span.start, self.right.span.end)

    def __str__(self) -> str:
        return f"{self.left} {self.sign} {self.right}"


@dataclass(frozen=True, slots=True)
class Flag:
    """A variable that is true or false by itself."""

    variable: Variable

    @property
    def span(self) -> Span:
        return self.variable.span

    def __str__(self) -> str:
        return str(self.variable)


@dataclass(frozen=True, slots=True)
class Completion:
    """`research_a complete`: said in this reply, or in an earlier one of the conversation."""

    topic: str
    span: Span = field(default=NOWHERE, compare=False)

    @property
    def variable(self) -> str:
        return self.topic + COMPLETE

    @property
    def statement(self) -> str:
        parts = self.topic.strip("_").split("_")
        return " ".join((*(part.upper() if len(part) == 1 else part for part in parts), "is complete"))

    def __str__(self) -> str:
        return self.variable


@dataclass(frozen=True, slots=True)
class Plain:
    """Plain language, to be judged."""

    pieces: tuple[Word | Text | Variable, ...]

    @property
    def span(self) -> Span:
        return Span(self.pieces[0].span.start, self.pieces[-1].span.end)

    def __str__(self) -> str:
        return " ".join(map(str, self.pieces))


@dataclass(frozen=True, slots=True)
class Not:
    part: Condition
    span: Span = field(default=NOWHERE, compare=False)

    def __str__(self) -> str:
        return f"not {_inside(self.part, And, Or, Plain)}"


@dataclass(frozen=True, slots=True)
class And:
    parts: tuple[Condition, ...]

    def __str__(self) -> str:
        return " and ".join(_inside(part, Or) for part in self.parts)


@dataclass(frozen=True, slots=True)
class Or:
    parts: tuple[Condition, ...]

    def __str__(self) -> str:
        return " or ".join(map(str, self.parts))


Clause = Comparison | Flag | Completion | Plain | Boolean
Condition = Clause | Not | And | Or


def all_of(parts: list[Condition]) -> Condition:
    """Their conjunction, without conjunctions inside conjunctions."""
    flat = [inner for part in parts for inner in (part.parts if isinstance(part, And) else (part,))]
    return flat[0] if len(flat) == 1 else And(tuple(flat))


def any_of(parts: list[Condition]) -> Condition:
    flat = [inner for part in parts for inner in (part.parts if isinstance(part, Or) else (part,))]
    return flat[0] if len(flat) == 1 else Or(tuple(flat))


def clauses(tree: Condition) -> Iterator[Clause]:
    """From left to right."""
    match tree:
        case And() | Or():
            for part in tree.parts:
                yield from clauses(part)
        case Not():
            yield from clauses(tree.part)
        case _:
            yield tree


def _inside(part: Condition, *looser: type) -> str:
    return f"({part})" if isinstance(part, looser) else str(part)
