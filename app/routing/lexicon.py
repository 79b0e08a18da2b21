"""General knowledge of what people say about which subject, so that two texts can be about the same in other words.

Each file of `subjects/` is one subject: a paragraph of words, most telling first, then what people say about it, one
phrase or sentence a line. A subject belongs there when a broad encyclopaedia of work and life would have it, whether or
not any team has an agent for it: subjects that nobody covers are how an unrelated query is recognised. Each file of
`languages/` has words of another language for every subject, and a line of its small words.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from threading import Lock

import numpy as np

from app.embeddings.embedder import DIMENSIONS, Vectors, unit
from app.embeddings.static import StaticEmbedder
from app.routing.telling import Floats, Met, Telling, told
from app.routing.words import SMALL, Pair, Spellings, Written, in_order, pairs_of, stem

FOLDER = Path(__file__).with_name("subjects")
LANGUAGES = Path(__file__).with_name("languages")
SMALL_WORDS = "small"  # in a file of languages: words that tell nothing, and are not misspelt either
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
    known: Mapping[str, str]  # an English word as people write it, and its stem
    spellings: Spellings
    _embedder: StaticEmbedder
    _places: Mapping[str, int]
    _foreign: Set[str]
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
        total: Floats = self._words.of(alone) + self._pairs.of(both)
        return unit(total)

    def english_of(self, order: Sequence[Written]) -> float:
        """The share of the words that are not another language's."""
        return 1 - sum(each.stem in self._foreign for each in order) / max(len(order), 1)

    def with_senses(self, subjects: Floats, texts: Sequence[str], english: float = 1.0) -> Floats:
        """A row a text: the subjects of its words, and of the sentences that its vector is near to. Those are English,
        and near to another language are the ones about languages: they count by how much of the text is `english`."""
        vectors = self._embedder.embed_now(texts)
        near = ((vectors - self._middle) @ self._senses).astype(np.float32, copy=False)
        near[~vectors.any(axis=1)] = 0
        return unit(subjects + np.float32(SENSE * english) * unit(near))


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
    names = [file.stem.replace("_", " ") for file in files]
    elsewhere = _elsewhere()
    for words in elsewhere[SMALL_WORDS]:
        reader.pass_over(words)
    listed = [reader.read(file.read_text(), elsewhere[name]) for name, file in zip(names, files, strict=True)]
    middle, senses = reader.senses()
    return Lexicon(
        names=tuple(names),
        background=tuple(" ".join(words[:BACKGROUND_WORDS]) for words in listed),
        known=reader.known,
        spellings=Spellings(reader.known),
        _embedder=embedder,
        _places=reader.places,
        _foreign=reader.foreign - set(reader.known.values()) - {stem(word) for word in SMALL},
        _words=told(reader.words),
        _pairs=told(reader.pairs),
        _middle=middle,
        _senses=senses,
    )


def _elsewhere() -> dict[str, list[list[str]]]:
    """By subject, its words in other languages."""
    found: dict[str, list[list[str]]] = defaultdict(list)
    for file in sorted(LANGUAGES.glob("*.txt")):
        for line in file.read_text().splitlines():
            name, listed = line.split(": ")
            found[name].append(listed.split())
    return found


class _Reader:
    """Reads one subject after the other, and keeps no line."""

    def __init__(self, embedder: StaticEmbedder) -> None:
        self._embedder = embedder
        self.places: dict[str, int] = {}
        self.known: dict[str, str] = {}
        self.foreign: set[str] = set()
        self.words: list[Met] = []
        self.pairs: list[Met] = []
        self._sizes: list[int] = []
        self._sums: list[Vectors] = []
        self._spread = np.zeros((DIMENSIONS, DIMENSIONS), dtype=np.float64)

    def read(self, text: str, elsewhere: Sequence[Sequence[str]]) -> list[str]:
        """The words that the subject lists, in English."""
        listing, said = text.split("\n\n", 1)
        listed, lines = listing.split(), said.splitlines()
        words: dict[int, float] = {}
        pairs: dict[int, float] = {}
        self.known |= self._read_list(listed, words)
        for foreign in elsewhere:
            self.foreign |= set(self._read_list(foreign, words).values())
        for line in lines:
            self._read_line(line, words, pairs)
        self.words.append(Met.of(words))
        self.pairs.append(Met.of(pairs))
        vectors = self._embedder.embed_now(lines)
        self._sizes.append(len(lines))
        self._sums.append(vectors.sum(axis=0))
        self._spread += vectors.T @ vectors
        return listed

    def pass_over(self, words: Iterable[str]) -> None:
        for stemmed in map(stem, words):
            self._place(stemmed)
            self.foreign.add(stemmed)

    def _read_list(self, listed: Sequence[str], words: dict[int, float]) -> dict[str, str]:
        telling = {word: stem(word) for word in listed if word not in SMALL}
        for rank, stemmed in enumerate(dict.fromkeys(telling.values())):
            place = self._place(stemmed)
            words[place] = max(words.get(place, 0), LISTED / (1 + rank / HALF))
        return telling

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
