"""Words of a text as routing compares them: without the small words, cut to their stem, slips of the finger forgiven."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

import numpy as np

WORD = re.compile(r"[^\W\d_]+")
LONGEST = 4_000  # characters of a text that are looked at
FORGIVEN_FROM = 5  # letters: in shorter words every slip makes another word
ALIKE = 0.6  # share of letter triples that two spellings of a word have in common
SMALL = frozenset(
    """a an the and or of to in on at for from by with without is are was were be been am do does did have has had i you
    he she it we they me him her us them my your our their his its this that these those what which who whom where when
    why how can could may might shall should will would must not no nor so than then there here as if but into out up
    down off over under again any every all each some one two three much many other another own same very too just also
    only now get gets got go goes make makes made take takes keep keeps need needs want wants let about before after
    between against during through per more most cannot nobody somebody everybody anybody something thing things
    way""".split()
)
ENDINGS = ("ations", "ation", "ings", "ing", "ments", "ment", "ies", "ers", "er", "ed", "es", "s", "e", "y")


def words(text: str) -> list[str]:
    return [word for word in WORD.findall(text[:LONGEST].lower()) if len(word) > 1 and word not in SMALL]


@lru_cache(maxsize=20_000)
def stem(word: str) -> str:
    """The word without one common English ending: alike for forms of a word, and nothing more."""
    for ending in ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word[: -len(ending)]
    return word


def stems(text: str) -> list[str]:
    return [stem(word) for word in words(text)]


class Spellings:
    """Finds the known word that a misspelt one was meant to be, by the letter triples that they share."""

    def __init__(self, known: Iterable[str]) -> None:
        self._known = sorted(set(known))
        self._counts = np.array([len(_triples(word)) for word in self._known] or [1])
        self._lengths = np.array([len(word) for word in self._known] or [0])
        places: dict[str, list[int]] = {}
        for place, word in enumerate(self._known):
            for triple in _triples(word):
                places.setdefault(triple, []).append(place)
        self._places = {triple: np.array(found) for triple, found in places.items()}

    def meant(self, word: str) -> tuple[str, float] | None:
        """The most alike known word and how alike it is, 0 to 1; None when none is alike enough."""
        if len(word) < FORGIVEN_FROM:
            return None
        own = _triples(word)
        found = [self._places[triple] for triple in own if triple in self._places]
        if not found:
            return None
        shared = np.bincount(np.concatenate(found), minlength=len(self._known))
        alike = 2 * shared / (self._counts + len(own))
        alike[np.abs(self._lengths - len(word)) > 2] = 0
        best = int(alike.argmax())
        return (self._known[best], float(alike[best])) if alike[best] >= ALIKE else None


def _triples(word: str) -> set[str]:
    marked = f"^{word}$"
    return {marked[start : start + 3] for start in range(len(marked) - 2)}
