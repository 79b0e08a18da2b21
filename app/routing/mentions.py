"""Who is addressed by name in a message: `@kyra`."""

from __future__ import annotations

import re
from collections.abc import Collection

URL = re.compile(r"https?://\S+", re.IGNORECASE)  # whose path may have an @name of its own
# Not after a letter, digit or dot, so that an e-mail address is no mention.
MENTION = re.compile(r"(?<![\w.+@-])@([a-z0-9][a-z0-9_-]*+)(?!@|\.[a-z])", re.IGNORECASE)


def mentions(text: str) -> list[str]:
    """Slugs that are mentioned, in order, each once, lower case. Whether such agents exist is the caller's question."""
    found = (match.group(1).lower().replace("_", "-").rstrip("-") for match in MENTION.finditer(URL.sub(" ", text)))
    return list(dict.fromkeys(found))


def addressing_nobody(text: str) -> str:
    """The same text, with names in it that address nobody."""
    return MENTION.sub(r"\1", text)


def first_mentioned(text: str, active: Collection[str]) -> str | None:
    """The first mentioned agent that is active; unknown and paused ones are passed over."""
    return next((slug for slug in mentions(text) if slug in active), None)
