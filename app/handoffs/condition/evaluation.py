"""Whether a condition holds: comparisons are computed, plain language is looked up among verdicts given elsewhere.

What is not known is neither true nor false: `unknown and false` is false, `unknown or true` is true, all else stays
unknown. A rule fires only on true.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from app.handoffs.condition.tree import (
    And,
    Boolean,
    Clause,
    Comparison,
    Completion,
    Condition,
    Flag,
    Not,
    Operand,
    Or,
    Plain,
    Variable,
    clauses,
)
from app.teams.variables import Value

HOLDS_FROM = 0.5  # confidence
_SIGNS: Mapping[str, Callable[[Any, Any], bool]] = {
    "==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip


class ClauseKind(StrEnum):
    COMPARISON = "comparison"
    FLAG = "flag"
    COMPLETION = "completion"
    PLAIN = "plain"
    CONSTANT = "constant"


@dataclass(frozen=True, slots=True)
class Verdict:
    """How sure a judge is that a reply says something, 0 to 1, and the words that made it so."""

    confidence: float
    reason: str = ""

    @property
    def holds(self) -> bool:
        return self.confidence >= HOLDS_FROM


@dataclass(frozen=True, slots=True)
class ClauseOutcome:
    """`holds` is None when it cannot be known yet; `confidence` only where something was judged."""

    clause: str
    kind: ClauseKind
    holds: bool | None
    reason: str
    confidence: float | None = None


def statement(clause: Plain | Completion, values: Mapping[str, Value]) -> str:
    """What a judge is asked: the clause with its variables filled in."""
    if isinstance(clause, Completion):
        return clause.statement
    return " ".join(_filled(piece, values) for piece in clause.pieces)


def statements(tree: Condition, values: Mapping[str, Value]) -> list[str]:
    """What a judge has to say before this can be evaluated; nothing when the rest decides it already."""
    if evaluate(tree, values, {}) is not None:
        return []
    return list(dict.fromkeys(_asked(tree, values)))


def every_statement(tree: Condition, values: Mapping[str, Value]) -> list[str]:
    return list(dict.fromkeys(_asked(tree, values)))


def evaluate(tree: Condition, values: Mapping[str, Value], verdicts: Mapping[str, Verdict]) -> bool | None:
    match tree:
        case And():
            found = [evaluate(part, values, verdicts) for part in tree.parts]
            return False if False in found else None if None in found else True
        case Or():
            found = [evaluate(part, values, verdicts) for part in tree.parts]
            return True if True in found else None if None in found else False
        case Not():
            inner = evaluate(tree.part, values, verdicts)
            return None if inner is None else not inner
        case _:
            return outcome(tree, values, verdicts).holds


def outcomes(tree: Condition, values: Mapping[str, Value], verdicts: Mapping[str, Verdict]) -> list[ClauseOutcome]:
    """Every clause from left to right with its value."""
    return [outcome(clause, values, verdicts) for clause in clauses(tree)]


def outcome(clause: Clause, values: Mapping[str, Value], verdicts: Mapping[str, Verdict]) -> ClauseOutcome:
    match clause:
        case Comparison():
            return _compared(clause, values)
        case Boolean():
            return ClauseOutcome(str(clause), ClauseKind.CONSTANT, clause.value, f"is always {clause}")
        case Flag(variable=variable):
            value = values.get(variable.name)
            reason = _missing(variable.name) if value is None else f"{variable.name} is {_told(value)}"
            holds = value if isinstance(value, bool) else None
            return ClauseOutcome(str(clause), ClauseKind.FLAG, holds, reason)
        case Completion() if values.get(clause.variable) is True:
            reason = f"{clause.topic} was completed before"
            return ClauseOutcome(str(clause), ClauseKind.COMPLETION, True, reason)
        case Completion():
            return _judged(clause, ClauseKind.COMPLETION, values, verdicts)
        case Plain():
            return _judged(clause, ClauseKind.PLAIN, values, verdicts)


def _asked(tree: Condition, values: Mapping[str, Value]) -> list[str]:
    return [
        statement(clause, values)
        for clause in clauses(tree)
        if isinstance(clause, Plain) or (isinstance(clause, Completion) and values.get(clause.variable) is not True)
    ]


def _judged(
    clause: Plain | Completion, kind: ClauseKind, values: Mapping[str, Value], verdicts: Mapping[str, Verdict]
) -> ClauseOutcome:
    verdict = verdicts.get(statement(clause, values))
    if verdict is None:
        return ClauseOutcome(str(clause), kind, None, "was not judged")
    return ClauseOutcome(str(clause), kind, verdict.holds, verdict.reason, verdict.confidence)


def _compared(clause: Comparison, values: Mapping[str, Value]) -> ClauseOutcome:
    left, right = _value(clause.left, values), _value(clause.right, values)
    for operand, value in ((clause.left, left), (clause.right, right)):
        if value is None:
            return ClauseOutcome(str(clause), ClauseKind.COMPARISON, None, _missing(str(_name(operand))))
    try:
        holds = bool(_SIGNS[clause.sign](left, right)) and isinstance(left, bool) == isinstance(right, bool)
    except TypeError:  # the variable was of another kind when the rule was saved
        reason = f"{_told(left)} and {_told(right)} cannot be compared"
        return ClauseOutcome(str(clause), ClauseKind.COMPARISON, None, reason)
    told = f"{_told(left)} {clause.sign} {_told(right)}"
    return ClauseOutcome(str(clause), ClauseKind.COMPARISON, holds, told)


def _value(operand: Operand, values: Mapping[str, Value]) -> Value | None:
    return values.get(operand.name) if isinstance(operand, Variable) else operand.value


def _name(operand: Operand) -> str:
    return operand.name if isinstance(operand, Variable) else str(operand)


def _missing(name: str) -> str:
    return f"{name} has no value yet"


def _told(value: object) -> str:
    return (
        ("true" if value else "false")
        if isinstance(value, bool)
        else f"'{value}'"
        if isinstance(value, str)
        else str(value)
    )


def _filled(piece: object, values: Mapping[str, Value]) -> str:
    if isinstance(piece, Variable):
        return str(values.get(piece.name, piece.name.replace("_", " ")))
    return str(getattr(piece, "value", piece))
