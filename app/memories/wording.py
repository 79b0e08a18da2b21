"""When two texts say the same, and by which words a text is looked for. Pure."""

from __future__ import annotations

import hashlib
import re
import unicodedata

MOST_WORDS = 50
LONGEST_WORD = 64  # Postgres refuses to look for words of more than 2,046 bytes
_WORD = re.compile(r"\w{2,}")


def fingerprint(text: str) -> bytes:
    """Equal for texts that differ only in case, space, the form of their characters and the full stop."""
    plain = " ".join(unicodedata.normalize("NFKC", text).casefold().split()).rstrip(".!")
    return hashlib.sha256(plain.encode()).digest()


def any_word(text: str) -> str:
    """A Postgres text query for any of the text's first words; empty for a text without words."""
    found = dict.fromkeys(word for word in _WORD.findall(text[:10_000].casefold()) if len(word) <= LONGEST_WORD)
    return " | ".join(f"'{word}'" for word in list(found)[:MOST_WORDS])
