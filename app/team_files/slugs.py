"""Makes a slug from a name, so that a team file may say only `name: researcher_a`."""

from __future__ import annotations

import re
import unicodedata

LONGEST = 63


def slug_from(name: str) -> str:
    """Empty when the name has no Latin letter and no digit."""
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().lower()
    return re.sub(r"[^a-z0-9]+", "-", plain).strip("-")[:LONGEST].rstrip("-")
