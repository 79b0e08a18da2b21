"""Words of a text as routing compares them: without small words, cut to their stem, slips of the finger forgiven."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np

WORD = re.compile(r"[^\W\d_]+")
LONGEST = 4_000  # characters of a text that are looked at
FORGIVEN_FROM = 5  # letters: in shorter words every slip makes another word
TWO_SLIPS_FROM = 8
LONGEST_WORD = 40
PAIRS_OF_A_SLIP = 3  # neighbouring letters that one slip can change
REMEMBERED = 10_000  # words whose meant spelling is kept, for each team
TRIED = 8  # known words that share the most pairs of letters with the misspelt one
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


Pair = tuple[str, str]  # stems of neighbouring words


class Written(NamedTuple):
    """A word of a text, where it stands."""

    word: str
    stem: str
    small: bool


def words(text: str) -> list[str]:
    return [word for word in WORD.findall(text[:LONGEST].lower()) if not _small(word)]


def in_order(text: str) -> list[Written]:
    """All words of a text, small ones too."""
    return [Written(word, stem(word), _small(word)) for word in WORD.findall(text[:LONGEST].lower())]


def pairs_of(order: Sequence[Written]) -> set[Pair]:
    """Neighbours, and those that only small words stand between: "log in", "money back", "cut the costs"."""
    large = [each.stem for each in order if not each.small]
    every = [each.stem for each in order]
    return {*pairwise(every), *pairwise(large)}


def _small(word: str) -> bool:
    return len(word) == 1 or word in SMALL


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
    """Finds the known word that a misspelt one was meant to be: one slip away, or two in a long word."""

    def __init__(self, known: Iterable[str]) -> None:
        self._known = sorted(set(known))
        self._counts = np.array([len(_pairs(word)) for word in self._known])
        places: dict[str, list[int]] = {}
        for place, word in enumerate(self._known):
            for pair in _pairs(word):
                places.setdefault(pair, []).append(place)
        self._places = {pair: np.array(found) for pair, found in places.items()}
        self.meant = lru_cache(maxsize=REMEMBERED)(self._meant)  # unknown words come again: names, jargon

    def _meant(self, word: str) -> tuple[str, float] | None:
        """The nearest known word and how sure that is, 0 to 1; None when none is near enough."""
        if not FORGIVEN_FROM <= len(word) <= LONGEST_WORD:
            return None
        forgiven = 1 if len(word) < TWO_SLIPS_FROM else 2
        own = _pairs(word)
        found = [self._places[pair] for pair in own if pair in self._places]
        if not found:
            return None
        shared = np.bincount(np.concatenate(found), minlength=len(self._known))
        near = np.flatnonzero(shared >= len(own) - PAIRS_OF_A_SLIP * forgiven)
        likely = near[np.argsort(-2 * shared[near] / (self._counts[near] + len(own)), kind="stable")[:TRIED]]
        slips, nearest = min(
            ((_slips(word, self._known[place], forgiven), self._known[place]) for place in likely), default=(9, "")
        )
        return (nearest, 1 - slips / len(word)) if slips <= forgiven else None


def _pairs(word: str) -> set[str]:
    marked = f"^{word}$"
    return {marked[start : start + 2] for start in range(len(marked) - 1)}


def _slips(one: str, other: str, most: int) -> int:
    """How many letters were left out, added, replaced or swapped with their neighbour; past `most`, some more."""
    if abs(len(one) - len(other)) > most:
        return most + 1
    before: list[int] = []
    last = list(range(len(other) + 1))
    for row, letter in enumerate(one, 1):
        current = [row]
        for column, wanted in enumerate(other, 1):
            fewest = min(last[column] + 1, current[-1] + 1, last[column - 1] + (letter != wanted))
            if row > 1 and column > 1 and letter == other[column - 2] and one[row - 2] == wanted:
                fewest = min(fewest, before[column - 2] + 1)
            current.append(fewest)
        if min(current) > most and min(last) > most:
            return most + 1
        before, last = last, current
    return last[-1]
