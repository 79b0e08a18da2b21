"""Reads what an agent wrote into sections, by the format that was asked for. Pure, and never at a loss: whatever the
text, it answers with the sections that can be found in it."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

from app.reports.models import MAX_NAME, MAX_TITLE, ReportFormat

_NUMBER = re.compile(r"^(?:\d{1,3}(?:\.\d{1,3})*[.)]?|[ivx]{1,5}[.)])\s+", re.IGNORECASE)
_MARKS = re.compile(r"[*_`~#]+")
_ASIDE = re.compile(r"\s*\([^()]*\)\s*:?\s*$")
_OTHER = re.compile(r"[^\w]+")


@dataclass(frozen=True, slots=True)
class Part:
    """A section as it was found: `name` in the template's manner, `title` as it was written."""

    name: str
    title: str
    content: str


Parser = Callable[[str, Collection[str]], list[Part]]


def parse(text: str, form: ReportFormat, known: Collection[str], parsers: Mapping[ReportFormat, Parser]) -> list[Part]:
    """`known` are the names of the template's sections. What occurs twice is put together where it was first; what is
    unknown and says nothing is left out."""
    found: dict[str, Part] = {}
    for part in parsers[form](storable(text), known):
        before = found.get(part.name)
        content = part.content.strip()
        if before is not None:
            content = "\n\n".join(filter(None, (before.content, content)))
        if part.name and (content or part.name in known):
            title = before.title if before else part.title
            found[part.name] = Part(part.name, title, content)
    return list(found.values())


def name_of(title: str) -> str:
    """A heading as the name of a section: `2. **Executive Summary (short):**` is `executive_summary`."""
    plain = _MARKS.sub(" ", title[: 2 * MAX_TITLE]).strip()
    plain = _ASIDE.sub("", _NUMBER.sub("", plain))
    return _OTHER.sub("_", plain.casefold()).strip("_")[:MAX_NAME].strip("_")


def shown(title: str) -> str:
    """A heading without its marks."""
    return " ".join(_MARKS.sub(" ", title).split()).rstrip(":").strip()[:MAX_TITLE]


def storable(text: str) -> str:
    """Without the few characters that no database keeps."""
    return text.replace("\0", "").encode("utf-8", "replace").decode("utf-8")
