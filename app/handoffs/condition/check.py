"""Whether the variables of a condition exist and can be compared; what is a variable after all is told apart here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from app.handoffs.condition.parser import OPERANDS, parse
from app.handoffs.condition.problem import ConditionError, ConditionProblem, Span, hint, problem_at
from app.handoffs.condition.tree import (
    And,
    Boolean,
    Clause,
    Comparison,
    Completion,
    Condition,
    Flag,
    Not,
    Number,
    Operand,
    Or,
    Plain,
    Text,
    Variable,
    Word,
)
from app.teams.variables import VariableKind

_ORDERING = ("<", "<=", ">", ">=")


def read(source: str, known: Mapping[str, VariableKind] | None) -> tuple[Condition | None, list[ConditionProblem]]:
    """The condition, with every problem in it; None when it cannot be read. Variables are not looked at when `known` is
    None."""
    try:
        tree = parse(source)
    except ConditionError as error:
        return None, [error.problem]
    if known is None:
        return tree, []
    checker = _Checker(source, known)
    return checker.resolved(tree), checker.problems


@dataclass(slots=True)
class _Checker:
    source: str
    known: Mapping[str, VariableKind]
    problems: list[ConditionProblem] = field(default_factory=list)

    def resolved(self, tree: Condition) -> Condition:
        match tree:
            case And():
                return And(tuple(map(self.resolved, tree.parts)))
            case Or():
                return Or(tuple(map(self.resolved, tree.parts)))
            case Not():
                return Not(self.resolved(tree.part), tree.span)
            case _:
                return self._clause(tree)

    def _clause(self, clause: Clause) -> Condition:
        match clause:
            case Comparison():
                self._compare(clause)
            case Flag(variable=variable):
                self._require_boolean(variable)
            case Completion():
                if self.known.get(clause.variable, VariableKind.BOOLEAN) is not VariableKind.BOOLEAN:
                    self._complain(
                        clause.span, f"'{clause.variable}' is {self.known[clause.variable].value}, not true or false"
                    )
            case Plain():
                return self._plain(clause)
        return clause

    def _compare(self, clause: Comparison) -> None:
        left, right = self._kind(clause.left), self._kind(clause.right)
        if left is None or right is None:
            return
        if left is not right:
            words = f"{_shown(clause.left, left)} cannot be compared with {_shown(clause.right, right)}"
            self._complain(clause.right.span, words, (_article(left),))
        elif clause.sign in _ORDERING and left is not VariableKind.NUMBER:
            span = Span(clause.left.span.end, clause.right.span.start)
            self._complain(
                span, f"only numbers are smaller or larger; compare {left.value} with == or !=", ("==", "!=")
            )

    def _kind(self, operand: Operand) -> VariableKind | None:
        match operand:
            case Number():
                return VariableKind.NUMBER
            case Text():
                return VariableKind.TEXT
            case Boolean():
                return VariableKind.BOOLEAN
            case Variable():
                if operand.name not in self.known:
                    self._unknown(operand)
                return self.known.get(operand.name)

    def _require_boolean(self, variable: Variable) -> None:
        kind = self.known.get(variable.name)
        if kind is None:
            self._unknown(variable)
        elif kind is not VariableKind.BOOLEAN:
            self._complain(variable.span, f"'{variable.name}' is {_article(kind)}; compare it, as in {variable} == …")

    def _plain(self, clause: Plain) -> Condition:
        match clause.pieces:
            case (Word(value=name, span=span),) if self.known.get(name) is VariableKind.BOOLEAN:
                return Flag(Variable(name, False, span))
            case (Word(value=word), Word(value=name, span=span)) if (
                word.lower() == "not" and self.known.get(name) is VariableKind.BOOLEAN
            ):
                return Not(Flag(Variable(name, False, span)), span)
        for piece in clause.pieces:
            match piece:
                case Variable() if piece.name not in self.known:
                    self._unknown(piece)
                case Word(value=name) if "_" in name and self.known.get(name) is VariableKind.NUMBER:
                    words = f"'{name}' is a number and is computed, not judged; compare it, as in {name} >= 1"
                    self._complain(piece.span, words, ("a comparison",))
        return clause

    def _unknown(self, variable: Variable) -> None:
        words = f"there is no variable '{variable.name}'{hint(variable.name, self.known)}"
        self._complain(variable.span, words, OPERANDS)

    def _complain(self, span: Span, message: str, expected: tuple[str, ...] = ()) -> None:
        self.problems.append(problem_at(self.source, span, message, expected))


def _shown(operand: Operand, kind: VariableKind) -> str:
    return f"'{operand}', which is {_article(kind)},"


def _article(kind: VariableKind) -> str:
    return {"number": "a number", "text": "a text", "boolean": "true or false"}[kind.value]
