"""Splits a condition into words, numbers, texts, variables and signs."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

from app.handoffs.condition.problem import ConditionError, Span, problem_at

LARGEST_NUMBER = 2**53 - 1  # beyond it a whole number does not survive JSON in every client
NAME = r"[A-Za-z_][A-Za-z0-9_]*"
_TOKEN = re.compile(
    r"(?P<space>\s+)"
    rf"|\{{\{{\s*(?P<reference>{NAME})\s*\}}\}}"
    r'|(?P<text>"(?:[^"\\]|\\.)*"|\'(?:[^\'\\]|\\.)*\'(?![\w\'"]))'
    r"|(?P<operator>==|!=|<=|>=|<|>|≤|≥|≠)"
    r"|(?P<open>\()"
    r"|(?P<close>\))"
    r"|(?P<word>(?:[^\s()<>={}\"!≤≥≠]|!(?!=))+)",
    re.DOTALL,
)
_NUMBER = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?")
_ENDS = ",;:."  # a comma before `and`, a full stop at the end
_SIGNS = {"≤": "<=", "≥": ">=", "≠": "!="}


class Kind(StrEnum):
    """As a message would name it."""

    WORD = "a word"
    NUMBER = "a number"
    TEXT = "a quoted text"
    REFERENCE = "a variable"
    OPERATOR = "a comparison sign"
    AND = "'and'"
    OR = "'or'"
    NOT = "'not'"
    OPEN = "'('"
    CLOSE = "')'"
    END = "the end"


KEYWORDS = {"and": Kind.AND, "or": Kind.OR, "not": Kind.NOT}


@dataclass(frozen=True, slots=True)
class Token:
    kind: Kind
    text: str
    span: Span

    @property
    def shown(self) -> str:
        return "the end" if self.kind is Kind.END else f"'{self.text[:40]}'"


def tokens(source: str) -> list[Token]:
    """With an END at the end; raises ConditionError at a sign that has no place in a condition."""
    found: list[Token] = []
    at = 0
    while at < len(source):
        match = _TOKEN.match(source, at)
        if match is None:
            raise _stray(source, at)
        span, at = Span(match.start(), match.end()), match.end()
        token = _token(str(match.lastgroup), match[str(match.lastgroup)], span, source)
        if token is not None:
            found.append(token)
    return [*found, Token(Kind.END, "", Span(len(source), len(source)))]


def number(text: str) -> int | float | None:
    """The value of a number; None for anything else."""
    if not _NUMBER.fullmatch(text) or len(text) > 40:
        return None
    value = float(text)
    if abs(value) > LARGEST_NUMBER:
        return None
    plain = text.lstrip("+-").isdigit()
    return int(text) if plain else value + 0.0


def _token(group: str, text: str, span: Span, source: str) -> Token | None:
    match group:
        case "space":
            return None
        case "text":
            return Token(Kind.TEXT, re.sub(r"\\(.)", r"\1", text[1:-1], flags=re.DOTALL), span)
        case "word":
            return _word(text, span, source)
        case "operator":
            return Token(Kind.OPERATOR, _SIGNS.get(text, text), span)
    return Token({"reference": Kind.REFERENCE, "open": Kind.OPEN, "close": Kind.CLOSE}[group], text, span)


def _word(text: str, span: Span, source: str) -> Token | None:
    if text[0] == "'" and source.find("'", span.start + 1) < 0:
        message = "a quotation mark opens and none closes it"
        raise ConditionError(problem_at(source, Span(span.start, span.start + 1), message, ("'",)))
    bare = text if number(text) is not None else text.rstrip(_ENDS)
    if not bare:
        return None
    span = Span(span.start, span.start + len(bare))
    if number(bare) is not None:
        return Token(Kind.NUMBER, bare, span)
    return Token(KEYWORDS.get(bare.lower(), Kind.WORD), bare, span)


def _stray(source: str, at: int) -> ConditionError:
    sign, rest = source[at], source[at : at + 2]
    span, expected = Span(at, at + 1), tuple[str, ...]()
    if sign == '"':
        message, expected = "a quotation mark opens and none closes it", ('"',)
    elif sign == "=":
        message, expected = "one '=' does not compare; write '=='", ("==",)
    elif rest == "{{":
        message, expected, span = "'{{' begins a variable such as {{ min_words }}", ("{{ name }}",), Span(at, at + 2)
    else:
        message = f"'{sign}' has no place in a condition"
        expected = ("{{ name }}",) if sign in "{}" else ()
    return ConditionError(problem_at(source, span, message, expected))
