"""Reads a condition: comparisons, `and`, `or`, `not`, parentheses, and plain language for everything else.

condition  = every ("or" every)*
every      = negated ("and" negated)*
negated    = "not" negated | "(" condition ")" | clause     ("not" before plain words is one of them)
clause     = operand sign operand | variable | topic ["is"] "complete" | plain words
"""

from __future__ import annotations

import re

from app.handoffs.condition.problem import ConditionError, Span, problem_at
from app.handoffs.condition.tokens import NAME, Kind, Token, number, tokens
from app.handoffs.condition.tree import (
    COMPLETE,
    Boolean,
    Clause,
    Comparison,
    Completion,
    Condition,
    Flag,
    Not,
    Number,
    Operand,
    Plain,
    Text,
    Variable,
    Word,
    all_of,
    any_of,
)

MAX_LENGTH = 2_000  # characters
MAX_DEPTH = 20  # parentheses and negations inside each other
MAX_CLAUSES = 50
OPERANDS = ("a number", "a variable", "a quoted text", "true", "false")
_CLAUSE = ("a clause",)
_AFTER = ("'and'", "'or'", "the end")
_NAME = re.compile(NAME)
_TRUTHS = {"true": True, "false": False}
_PIECES = (Kind.WORD, Kind.NUMBER, Kind.TEXT, Kind.REFERENCE)


def parse(source: str) -> Condition:
    """Raises ConditionError with the place and what was expected there. Knows no variables: `check` does."""
    if len(source) > MAX_LENGTH:
        message = f"a condition is at most {MAX_LENGTH:,} characters long; this one has {len(source):,}"
        raise ConditionError(problem_at(source, Span(MAX_LENGTH, len(source)), message))
    return _Parser(source).whole()


class _Parser:
    def __init__(self, source: str) -> None:
        self._source = source
        self._tokens = tokens(source)
        self._at = 0
        self._depth = 0
        self._clauses = 0

    def whole(self) -> Condition:
        tree = self._either()
        if self._next.kind is Kind.CLOSE:
            raise self._error("this ')' has no '(' before it", _AFTER)
        if self._next.kind is not Kind.END:
            raise self._error(f"expected 'and' or 'or' before {self._next.shown}", _AFTER)
        return tree

    @property
    def _next(self) -> Token:
        return self._tokens[self._at]

    def _take(self) -> Token:
        token = self._next
        self._at += 1
        return token

    def _either(self) -> Condition:
        parts = [self._every()]
        while self._next.kind is Kind.OR:
            self._take()
            parts.append(self._every())
        return any_of(parts)

    def _every(self) -> Condition:
        parts = [self._negated()]
        while self._next.kind is Kind.AND:
            self._take()
            parts.append(self._negated())
        return all_of(parts)

    def _negated(self) -> Condition:
        if self._next.kind not in (Kind.NOT, Kind.OPEN):
            return self._clause()
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise self._error(f"is nested deeper than {MAX_DEPTH} levels")
        token = self._take()
        inner = self._not(token) if token.kind is Kind.NOT else self._group(token)
        self._depth -= 1
        return inner

    def _not(self, token: Token) -> Condition:
        """Before plain words it is one of them: "not approved" is something that a reply says. `not (approved)` is true
        of every reply that does not say "approved"."""
        if self._next.kind not in _PIECES:
            return Not(self._negated(), token.span)
        clause = self._clause()
        return (
            Plain((Word(token.text, token.span), *clause.pieces))
            if isinstance(clause, Plain)
            else Not(clause, token.span)
        )

    def _group(self, opened: Token) -> Condition:
        inner = self._either()
        if self._next.kind is Kind.END:
            raise ConditionError(problem_at(self._source, opened.span, "this '(' is never closed", ("')'",)))
        if self._next.kind is not Kind.CLOSE:
            raise self._error(f"expected 'and', 'or' or ')' before {self._next.shown}", ("'and'", "'or'", "')'"))
        self._take()
        self._refuse_compared_group()
        return inner

    def _refuse_compared_group(self) -> None:
        if self._next.kind is Kind.OPERATOR:
            raise self._error("a group in parentheses cannot be compared", _AFTER)

    def _clause(self) -> Clause:
        self._clauses += 1
        if self._clauses > MAX_CLAUSES:
            raise self._error(f"has more than {MAX_CLAUSES} clauses")
        run = self._run()
        if self._next.kind is Kind.OPERATOR:
            return self._comparison(run)
        if not run:
            raise self._empty()
        return self._meant(run)

    def _run(self) -> list[Token]:
        """Words up to the next sign or keyword. Inside plain language `not` is a word."""
        run: list[Token] = []
        while self._next.kind in _PIECES or (run and self._next.kind is Kind.NOT):
            run.append(self._take())
        return run

    def _comparison(self, run: list[Token]) -> Comparison:
        left = self._operand(run, f"before {self._next.shown}")
        sign = self._take()
        right = self._operand(self._run(), f"after {sign.shown}")
        if self._next.kind is Kind.OPERATOR:
            raise self._error("comparisons cannot be chained; join two with 'and'", _AFTER)
        return Comparison(left, sign.text, right)

    def _operand(self, run: list[Token], where: str) -> Operand:
        if not run:
            raise self._error(f"expected a number, a text or a variable {where}, found {self._next.shown}", OPERANDS)
        operand = _value(run[0])
        if len(run) > 1 or operand is None:
            span = Span(run[0].span.start, run[-1].span.end)
            shown = self._source[span.start : span.end][:60]
            message = f"expected one number, text or variable {where}, found '{shown}'"
            raise ConditionError(problem_at(self._source, span, message, OPERANDS))
        return operand

    def _meant(self, run: list[Token]) -> Clause:
        span = Span(run[0].span.start, run[-1].span.end)
        words = [token.text for token in run]
        if len(run) == 1 and (alone := self._alone(run[0])) is not None:
            return alone
        if run[0].kind is Kind.WORD and _is_topic(words):
            return Completion(words[0], span)
        if not any(letter.isalnum() for word in words for letter in word):
            raise ConditionError(problem_at(self._source, span, "says nothing that could be judged", _CLAUSE))
        return Plain(tuple(_piece(token) for token in run))

    def _alone(self, token: Token) -> Clause | None:
        match _value(token):
            case Variable() as variable if variable.braced:
                return Flag(variable)
            case Variable(name=name) if name.endswith(COMPLETE) and name.strip("_") != COMPLETE.strip("_"):
                return Completion(name.removesuffix(COMPLETE), token.span)
            case Variable(name=name) as variable if "_" in name:
                return Flag(variable)
            case Boolean() as truth:
                return truth
            case Number():
                message = f"the number {token.shown} says nothing by itself; compare it with a variable"
                raise ConditionError(problem_at(self._source, token.span, message, _CLAUSE))
        return None

    def _empty(self) -> ConditionError:
        before = self._tokens[self._at - 1].shown if self._at else ""
        if self._next.kind is Kind.END and not self._at:
            return self._error("is empty", _CLAUSE)
        where = f"after {before}" if before else f"before {self._next.shown}"
        return self._error(f"expected a clause {where}, found {self._next.shown}", _CLAUSE)

    def _error(self, message: str, expected: tuple[str, ...] = ()) -> ConditionError:
        return ConditionError(problem_at(self._source, self._next.span, message, expected))


def _value(token: Token) -> Operand | None:
    match token.kind:
        case Kind.NUMBER:
            return Number(number(token.text) or 0, token.span)
        case Kind.TEXT:
            return Text(token.text, token.span)
        case Kind.REFERENCE:
            return Variable(token.text, True, token.span)
        case Kind.WORD if token.text in _TRUTHS:
            return Boolean(_TRUTHS[token.text], token.span)
        case Kind.WORD if _NAME.fullmatch(token.text):
            return Variable(token.text, False, token.span)
    return None


def _piece(token: Token) -> Word | Text | Variable:
    match token.kind:
        case Kind.REFERENCE:
            return Variable(token.text, True, token.span)
        case Kind.TEXT:
            return Text(token.text, token.span)
    return Word(token.text, token.span)


def _is_topic(words: list[str]) -> bool:
    """`research_a complete`: an underscore makes a name; without one it is plain language about this reply."""
    named = "_" in words[0].strip("_") and _NAME.fullmatch(words[0]) is not None
    return named and [word.lower() for word in words[1:]] in (["complete"], ["is", "complete"])
