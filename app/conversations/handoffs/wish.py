"""Whether a user asks for an agent back: "@kyra", "go back to Kyra". Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from app.routing.mentions import mentions

LONGEST = 2_000  # characters of a message that are looked at
_BACK = re.compile(
    r"(?:\bback\s+to|\breturn(?:\s+me|\s+us)?\s+to|\b(?:talk|speak)(?:ing)?\s+(?:to|with))\s+@?(?P<rest>[^\n]{1,130})",
    re.IGNORECASE,
)
_NAMELESS = re.compile(
    r"(?:please\s+)?(?:go|take\s+me|bring\s+me|switch|hand\s+me)\s+back(?:\s+to\s+(?:the\s+)?(?:previous|last)\s+\w+)?"
    r"(?:[\s,]+please)?[\s.!]*",
    re.IGNORECASE,
)
_REFUSED = re.compile(r"\b(?:not|never|don'?t|won'?t|no\s+need\s+to)\b[^.!?\n]{0,40}$", re.IGNORECASE)
_AGAIN = re.compile(r"\bagain\b|\bback\b|\breturn\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Former:
    """An agent that had the conversation before."""

    id: UUID
    slug: str
    name: str


def wanted_back(text: str, former: Sequence[Former]) -> Former | None:
    """`former` with the latest first. Somebody else's name, or a denial, asks for nobody."""
    text = text[:LONGEST]
    if not former:
        return None
    named = mentions(text)
    if named:
        return next((one for one in former if one.slug == named[0]), None)
    if _NAMELESS.fullmatch(text.strip()):
        return former[0]
    for match in _BACK.finditer(text):
        sentence = re.split(r"[.!?\n]", text[: match.start()])[-1] + match.group()
        if _REFUSED.search(text[: match.start()]) or not _AGAIN.search(sentence):
            continue
        rest = match["rest"].casefold()
        found = next((one for one in former if _starts_with(rest, one)), None)
        if found is not None:
            return found
    return None


def _starts_with(rest: str, one: Former) -> bool:
    names = {one.name.casefold(), one.slug.casefold(), one.slug.replace("-", " ").casefold()}
    return any(re.match(rf"{re.escape(name)}(?![\w-])", rest) for name in names)
