"""General knowledge of what people say about which subject, so that two texts can be about the same in other words.

Each file of `subjects/` is one subject: a paragraph of words, most telling first, then what people say about it, one
phrase or sentence a line. A subject belongs there when a broad encyclopaedia of work and life would have it, whether or
not any team has an agent for it: subjects that nobody covers are how an unrelated query is recognised.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from app.embeddings.embedder import DIMENSIONS, Vectors, unit
from app.embeddings.static import StaticEmbedder
from app.routing.telling import Floats, Telling, told
from app.routing.words import SMALL, Pair, Spellings, in_order, pairs_of, stem

FOLDER = Path(__file__).with_name("subjects")
LISTED = 3.0  # the first word of a subject's list tells as much as three sentences with it
HALF = 100  # a word at this place of the list tells half as much as the first
BACKGROUND_WORDS = 20
SENSE = 0.6  # how much the vector of a text tells of its subjects, beside its words
RIDGE = 3.0
DIGITS = 4  # of the senses: machines whose arithmetic differs in the last bits read alike
PLACES = 1 << 24  # more than there are stems: a pair of them is one number


@dataclass(frozen=True)
class Lexicon:
    names: tuple[str, ...]
    background: tuple[str, ...]  # a text about each subject; no two about the same
    known: Mapping[str, str]  # a word as people write it, and its stem
    spellings: Spellings
    _places: Mapping[str, int]
    _words: Telling
    _pairs: Telling
    _middle: Vectors
    _senses: Floats

    def knows(self, stemmed: str) -> bool:
        return stemmed in self._places

    def subjects_of(self, words: Mapping[str, float], pairs: Iterable[Pair], of_a_pair: float) -> Floats:
        """Of stems and pairs of stems, each with how much it counts. Of length one, or all zeros."""
        total = np.zeros(len(self.names), dtype=np.float32)
        places = self._places
        self._words.add_to(total, ((places[each], weight) for each, weight in words.items() if each in places))
        both = ((one, other) for one, other in pairs if one in places and other in places)
        self._pairs.add_to(total, ((places[one] * PLACES + places[other], of_a_pair) for one, other in both))
        return unit(total)

    def with_senses(self, subjects: Floats, texts: Sequence[str]) -> Floats:
        """A row a text: the subjects of its words, and those of texts that its vector is near to."""
        vectors = StaticEmbedder().embed_now(texts)
        senses = unit((vectors - self._middle) @ self._senses)
        senses[~vectors.any(axis=1)] = 0
        return unit(subjects + np.float32(SENSE) * senses)


@cache
def lexicon() -> Lexicon:
    """Read at the first use, which takes about a second."""
    files = sorted(FOLDER.glob("*.txt"))
    listed, said = zip(*(_parts(file.read_text()) for file in files), strict=True)
    places: dict[str, int] = {}
    known: dict[str, str] = {}

    def place(stemmed: str) -> int:
        return places.setdefault(stemmed, len(places))

    words = _Met()
    pairs = _Met()
    for subject, (listing, lines) in enumerate(zip(listed, said, strict=True)):
        for rank, stemmed in enumerate(dict.fromkeys(stem(word) for word in listing if word not in SMALL)):
            words.add(place(stemmed), subject, LISTED / (1 + rank / HALF))
        for line in lines:
            order = in_order(line)
            for stemmed in {each.stem for each in order if not each.small}:
                words.add(place(stemmed), subject, 1)
            for one, other in pairs_of(order):
                pairs.add(place(one) * PLACES + place(other), subject, 1)
            known |= {each.word: each.stem for each in order if not each.small}
        known |= {word: stem(word) for word in listing if word not in SMALL}
    middle, senses = _senses(said)
    return Lexicon(
        names=tuple(file.stem.replace("_", " ") for file in files),
        background=tuple(" ".join(listing[:BACKGROUND_WORDS]) for listing in listed),
        known=known,
        spellings=Spellings(known),
        _places=places,
        _words=words.told(len(files)),
        _pairs=pairs.told(len(files)),
        _middle=middle,
        _senses=senses,
    )


def _parts(text: str) -> tuple[list[str], list[str]]:
    listed, said = text.split("\n\n", 1)
    return listed.split(), said.split("\n")[:-1]


class _Met:
    """How often each key was met with each subject."""

    def __init__(self) -> None:
        self._keys: list[int] = []
        self._subjects: list[int] = []
        self._amounts: list[float] = []

    def add(self, key: int, subject: int, amount: float) -> None:
        self._keys.append(key)
        self._subjects.append(subject)
        self._amounts.append(amount)

    def told(self, count: int) -> Telling:
        return told(np.array(self._keys, np.int64), np.array(self._subjects, np.intp), np.array(self._amounts), count)


def _senses(said: Sequence[Sequence[str]]) -> tuple[Vectors, Floats]:
    """Ridge regression from the vector of a line to its subject, in closed form."""
    vectors = StaticEmbedder().embed_now([line for lines in said for line in lines])
    sizes = np.array([len(lines) for lines in said])
    middle = vectors.mean(axis=0)
    sums = np.add.reduceat(vectors, np.append(0, np.cumsum(sizes)[:-1])) - sizes[:, None] * middle
    spread = vectors.T @ vectors - len(vectors) * np.outer(middle, middle)
    weights = np.linalg.solve(spread + RIDGE * np.eye(DIMENSIONS), sums.T)
    return middle, np.round(weights, DIGITS).astype(np.float32)
