"""General knowledge of which words belong to which subject, so that two texts can be about the same in other words."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from app.routing.words import SMALL, WORD, stem

FILE = Path(__file__).with_name("topics.txt")
HALF = 30  # a word at this place of a subject's list tells half as much as the first
BACKGROUND_WORDS = 20


@dataclass(frozen=True)
class Topics:
    """Each known stem has a row: how much it tells for each subject."""

    names: tuple[str, ...]
    rows: dict[str, NDArray[np.float32]]
    known: dict[str, str]  # a word as people write it, and its stem
    background: tuple[str, ...]  # a text about each subject; no two about the same


@cache
def topics() -> Topics:
    """Read once, at the first use."""
    lines = [line for line in FILE.read_text().splitlines() if line and not line.startswith("#")]
    lists = [(name, [*WORD.findall(name), *words.split()]) for name, words in (line.split(": ") for line in lines)]
    rows: dict[str, NDArray[np.float32]] = {}
    known: dict[str, str] = {}
    for subject, (_, listed) in enumerate(lists):
        telling = dict.fromkeys(stem(word) for word in listed if word not in SMALL)
        for place, stemmed in enumerate(telling):
            row = rows.setdefault(stemmed, np.zeros(len(lists), dtype=np.float32))
            row[subject] = 1 / (1 + place / HALF)
        for word in listed:
            if word not in SMALL:
                known.setdefault(word, stem(word))
    for stemmed, row in rows.items():
        rows[stemmed] = row / np.linalg.norm(row) * np.sqrt(row.max())
    background = tuple(" ".join(listed[:BACKGROUND_WORDS]) for _, listed in lists)
    return Topics(tuple(name for name, _ in lists), rows, known, background)
