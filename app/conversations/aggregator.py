"""Makes one answer of several agents' replies: the best of them, or a synthesis that names whom it quotes. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from app.conversations.models import ContributionUse
from app.embeddings.embedder import Vectors

OVERLAP = 0.9  # cosine above which two passages say the same
MOST_PASSAGES = 200  # of one reply that are compared by what they mean; further ones by their words
MOST_WEIGHED = 20_000  # characters of a reply by which its relevance is judged
_BLANK_LINES = re.compile(r"\n\s*\n")


@dataclass(frozen=True)
class Voice:
    """One agent's reply. `vectors` has a row for the whole of it, and one for each of its first passages."""

    name: str
    skill: str
    text: str
    vectors: Vectors


@dataclass(frozen=True)
class Answer:
    """`lead` is the most relevant voice. Uses and relevances are in the order of the voices."""

    text: str
    lead: int
    uses: tuple[ContributionUse, ...]
    relevances: tuple[float, ...]


@dataclass
class _Said:
    """What stands in the answer so far."""

    vectors: list[Vectors] = field(default_factory=list)
    texts: set[str] = field(default_factory=set)

    def take_new(self, texts: Sequence[str], vectors: Vectors) -> list[str]:
        """Those that were not said yet, by others or by an earlier one of them; they stand from now on."""
        known: NDArray[np.bool_] = np.any(_overlap(vectors, np.concatenate([*self.vectors, vectors[:0]])), axis=1)
        alike, taken = _overlap(vectors, vectors), np.zeros(len(vectors), dtype=bool)
        new = []
        for at, text in enumerate(texts):
            words, compared = _bare(text), at < len(vectors)
            if words in self.texts or (compared and (known[at] or (alike[at] & taken).any())):
                continue
            self.texts.add(words)
            new.append(text)
            if compared:
                taken[at] = True
        self.vectors.append(vectors[taken])
        return new


def passages(text: str) -> list[str]:
    """What a reply is compared by: its paragraphs."""
    return [part.strip() for part in _BLANK_LINES.split(text) if part.strip()]


def weighed(text: str) -> list[str]:
    """What of a reply is embedded, in the order of a voice's vectors."""
    return [text[:MOST_WEIGHED], *passages(text)[:MOST_PASSAGES]]


def best(question: Vectors, voices: Sequence[Voice]) -> Answer:
    """The most relevant reply as it is; of equal ones the first."""
    relevances = _relevances(question, voices)
    lead = _ranked(relevances)[0]
    uses = [ContributionUse.UNUSED] * len(voices)
    uses[lead] = ContributionUse.ANSWER
    return Answer(voices[lead].text, lead, tuple(uses), relevances)


def merged(question: Vectors, voices: Sequence[Voice]) -> Answer:
    """The most relevant reply first, then of each further one what was not said yet, with its author's name."""
    relevances, said = _relevances(question, voices), _Said()
    kept: dict[int, str] = {}
    for place in _ranked(relevances):
        # By passage, not by the whole: a reply that says the same and one thing more has that one thing to add.
        if new := said.take_new(passages(voices[place].text), voices[place].vectors[1:]):
            kept[place] = "\n\n".join(new)
    lead = _ranked(relevances)[0]
    several = len(kept) > 1
    text = "\n\n".join(_attributed(voices[place], own) if several else own for place, own in kept.items())
    used = ContributionUse.MERGED if several else ContributionUse.ANSWER
    uses = tuple(used if place in kept else ContributionUse.DUPLICATE for place in range(len(voices)))
    return Answer(text, lead, uses, relevances)


def _attributed(voice: Voice, text: str) -> str:
    head = f"According to {voice.name}" + (f" ({voice.skill})" if voice.skill else "")
    return f"{head}:\n\n{text}" if "\n" in text else f"{head}: {text}"


def _overlap(some: Vectors, others: Vectors) -> NDArray[np.bool_]:
    overlap: NDArray[np.bool_] = some @ others.T > OVERLAP
    return overlap


def _relevances(question: Vectors, voices: Sequence[Voice]) -> tuple[float, ...]:
    return tuple(float(np.clip(voice.vectors[0] @ question, 0, 1)) for voice in voices)


def _ranked(relevances: Sequence[float]) -> list[int]:
    return sorted(range(len(relevances)), key=lambda place: (-relevances[place], place))


def _bare(text: str) -> str:
    return " ".join(text.casefold().split())
