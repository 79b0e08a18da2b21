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
from threading import Lock

import numpy as np

from app.embeddings.embedder import DIMENSIONS, Vectors, unit
from app.embeddings.static import StaticEmbedder
from app.routing.telling import Floats, Met, Telling, told
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
    _embedder: StaticEmbedder
    _places: Mapping[str, int]
    _words: Telling
    _pairs: Telling
    _middle: Vectors
    _senses: Floats

    def knows(self, stemmed: str) -> bool:
        return stemmed in self._places

    def subjects_of(self, words: Mapping[str, float], pairs: Iterable[Pair], of_a_pair: float) -> Floats:
        """Of stems and pairs of stems, each with how much it counts. Of length one, or all zeros."""
        places = self._places
        alone = {places[each]: weight for each, weight in words.items() if each in places}
        both = {
            places[one] * PLACES + places[other]: of_a_pair for one, other in pairs if one in places and other in places
        }
        return unit((self._words.of(alone) + self._pairs.of(both)).astype(np.float32))

    def with_senses(self, subjects: Floats, texts: Sequence[str]) -> Floats:
        """A row a text: the subjects of its words, and those of texts that its vector is near to."""
        vectors = self._embedder.embed_now(texts)
        senses = unit((vectors - self._middle) @ self._senses)
        senses[~vectors.any(axis=1)] = 0
        return unit(subjects + np.float32(SENSE) * senses)


def lexicon() -> Lexicon:
    """Read at the first use, once in a process. That takes about a second: not for an event loop."""
    with _READING:
        return _read()


_READING = Lock()


@cache
def _read() -> Lexicon:
    files = sorted(FOLDER.glob("*.txt"))
    embedder = StaticEmbedder()
    reader = _Reader(embedder)
    listed = [reader.read(file.read_text()) for file in files]
    middle, senses = reader.senses()
    return Lexicon(
        names=tuple(file.stem.replace("_", " ") for file in files),
        background=tuple(" ".join(words[:BACKGROUND_WORDS]) for words in listed),
        known=reader.known,
        spellings=Spellings(reader.known),
        _embedder=embedder,
        _places=reader.places,
        _words=told(reader.words),
        _pairs=told(reader.pairs),
        _middle=middle,
        _senses=senses,
    )


class _Reader:
    """Reads one subject after the other, and keeps no line."""

    def __init__(self, embedder: StaticEmbedder) -> None:
        self._embedder = embedder
        self.places: dict[str, int] = {}
        self.known: dict[str, str] = {}
        self.words: list[Met] = []
        self.pairs: list[Met] = []
        self._sizes: list[int] = []
        self._sums: list[Vectors] = []
        self._spread = np.zeros((DIMENSIONS, DIMENSIONS), dtype=np.float64)

    def read(self, text: str) -> list[str]:
        """The words that the subject lists."""
        listing, said = text.split("\n\n", 1)
        listed, lines = listing.split(), said.split("\n")[:-1]
        words: dict[int, float] = {}
        for rank, stemmed in enumerate(dict.fromkeys(stem(word) for word in listed if word not in SMALL)):
            words[self._place(stemmed)] = LISTED / (1 + rank / HALF)
        pairs: dict[int, float] = {}
        for line in lines:
            self._read_line(line, words, pairs)
        self.words.append(Met.of(words))
        self.pairs.append(Met.of(pairs))
        self.known |= {word: stem(word) for word in listed if word not in SMALL}
        vectors = self._embedder.embed_now(lines)
        self._sizes.append(len(lines))
        self._sums.append(vectors.sum(axis=0))
        self._spread += vectors.T @ vectors
        return listed

    def _read_line(self, line: str, words: dict[int, float], pairs: dict[int, float]) -> None:
        order = in_order(line)
        large = {each.word: each.stem for each in order if not each.small}
        self.known |= large
        for stemmed in set(large.values()):
            place = self._place(stemmed)
            words[place] = words.get(place, 0) + 1
        for one, other in pairs_of(order):
            both = self._place(one) * PLACES + self._place(other)
            pairs[both] = pairs.get(both, 0) + 1

    def _place(self, stemmed: str) -> int:
        return self.places.setdefault(stemmed, len(self.places))

    def senses(self) -> tuple[Vectors, Floats]:
        """Ridge regression from the vector of a line to its subject, in closed form."""
        sizes = np.array(self._sizes)
        sums = np.array(self._sums, dtype=np.float64)
        middle = sums.sum(axis=0) / sizes.sum()
        spread = self._spread - sizes.sum() * np.outer(middle, middle)
        weights = np.linalg.solve(spread + RIDGE * np.eye(DIMENSIONS), (sums - np.outer(sizes, middle)).T)
        return middle.astype(np.float32), np.round(weights, DIGITS).astype(np.float32)
