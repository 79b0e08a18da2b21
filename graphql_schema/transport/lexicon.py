"""Counts what a document holds by one regular expression, long before graphql-core's parser would have."""

from __future__ import annotations

import re
from typing import NamedTuple

# Every alternative is possessive, and an unclosed string runs to the end: the scan is linear for any text.
_TOKEN = re.compile(
    r'"""(?:[^"\\]++|\\(?:""")?|"(?!""))*+(?:""")?'
    r'|"(?:[^"\\\r\n]++|\\.)*+"?'
    r"|\#[^\r\n]*+"
    r"|\.\.\."
    r"|[_A-Za-z][_0-9A-Za-z]*+"
    r"|-?[0-9][0-9A-Za-z.+-]*+"
    r"|[^\s,\ufeff]"
)


def tokens(text: str) -> list[str]:
    """The lexical tokens, comments included: the parser pays for those too."""
    return _TOKEN.findall(text)


class Count(NamedTuple):
    """What a document spells out, fragments not expanded. Exact for a valid document, near for any other."""

    fields: int
    argument_tokens: int
    literal_chars: int


def count(found: list[str]) -> Count:
    fields = braces = parentheses = inside = 0
    named = False  # whether the next name belongs to a spread, a type condition or a directive
    for token in found:
        if token == "(":
            parentheses += 1
        elif token == ")":
            parentheses -= 1
        elif parentheses:
            inside += 1
        elif token == "{":
            braces += 1
            named = False
        elif token == "}":
            braces -= 1
        elif token in ("...", "@"):
            named = True
        elif token == ":":
            fields -= 1  # what stood before it was an alias
        elif braces and (token[0].isalpha() or token[0] == "_"):
            fields += not named
            named = named and token == "on"
    return Count(fields, inside, sum(len(token) for token in found if token[0] == '"'))
