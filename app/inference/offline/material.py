"""What a task gives the offline model to work from, in sentences that can be ranked. Pure and deterministic."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from app.inference.prompt import Assignment, Source

MOST_CHARACTERS = 50_000  # of all texts together: the ranking runs on the event loop
LONGEST_SENTENCE = 400
_BREAKS = re.compile(r"(?<=[.!?])\s+(?=[\"'(\[]?[A-ZÀ-ÞА-Я0-9])|\n+")
_BULLET = re.compile(r"^\s*(?:[-*•>#]+|\d+[.)])\s+")
_HEADING = re.compile(r"^#{1,6}[ \t].*$", re.MULTILINE)  # names what is said, and says nothing
_OWN_SOURCE = re.compile(r"(?:\s*_\([^()]*\)_)+$")  # where a text before had its sentence from
_WORD = re.compile(r"[^\W\d_]{3,}")
_STOP = frozenset(
    "about after all also and any are because been before being both but can could did does each for from had has have "
    "her here him his how into its just like may more most must not now off one only other our out over own same she "
    "should some such than that the their them then there these they this those through too under until upon use very "
    "was were what when where which while who why will with would you your please task write give make using "
    "aber auch auf aus bei das dem den der des die ein eine einer für ist mit nicht sich sind und von wie zum".split()
)
_TROUBLE = frozenset(
    "bug bugs crash crashes broken breaks error errors exception fail fails failed failing failure fault flaky leak "
    "leaks leaked missing never unsafe insecure injection vulnerability vulnerable race deadlock slow timeout todo "
    "fixme hack wrong incorrect invalid undefined unhandled unchecked duplicate duplicated deprecated risk risky "
    "blocked blocker problem problems issue issues concern unclear inconsistent password secret plaintext "
    "hardcoded".split()
)


def words(text: str) -> list[str]:
    """Its words of meaning, in lower case."""
    return [word for word in _WORD.findall(text.casefold()) if word not in _STOP]


def sentences(text: str) -> list[str]:
    found = (_BULLET.sub("", piece).strip() for piece in _BREAKS.split(text))
    return [shortened(piece, LONGEST_SENTENCE) for piece in found if words(piece)]


def shortened(text: str, most: int) -> str:
    return text if len(text) <= most else (text[: most - 1].rstrip() + "…")[:most]


@dataclass(frozen=True, slots=True)
class Sentence:
    text: str
    source: str


class Material:
    """`focus` is what the task is about; the rest is what it may quote."""

    def __init__(self, task: Assignment, instructions: str, results: Sequence[Source] = ()) -> None:
        self.task = task
        self.instructions = instructions
        self.results = tuple(results)
        self.focus = frozenset(words(f"{task.title} {instructions} {task.expected_output}"))

    @cached_property
    def sources(self) -> list[Source]:
        given = [Source("the input", _plain(self.task.given))] if self.task.given else []
        context = [Source("the context", self.task.context)] if self.task.context.strip() else []
        return [*context, *given, *self.task.sources, *self.results]

    @cached_property
    def sentences(self) -> list[Sentence]:
        """All of them, each once. A task that gives nothing is worked on from its instructions alone."""
        sources = self.sources or [Source("the instructions", self.instructions or self.task.title)]
        left, found = MOST_CHARACTERS, dict[str, Sentence]()
        for source in sources:
            text, left = source.text[:left], max(left - len(source.text), 0)
            said = _HEADING.sub("", text)
            for sentence in (_OWN_SOURCE.sub("", one) for one in sentences(said if said.strip() else text)):
                found.setdefault(sentence.casefold(), Sentence(sentence, source.label))
        return list(found.values())

    @cached_property
    def frequencies(self) -> Counter[str]:
        return Counter(word for sentence in self.sentences for word in words(sentence.text))

    def points(self, most: int) -> list[Sentence]:
        """The sentences that say most of what is asked about, in their own order."""
        return self._best(self.sentences, most)

    def troubles(self, most: int) -> list[Sentence]:
        """The sentences that speak of something wrong."""
        return self._best([one for one in self.sentences if _TROUBLE & set(words(one.text))], most)

    def figures(self, most: int) -> list[Sentence]:
        return self._best([one for one in self.sentences if re.search(r"\d", one.text)], most)

    def steps(self, most: int) -> list[str]:
        """What the instructions ask for, one thing at a time."""
        return sentences(self.instructions)[:most] or [self.task.title]

    def terms(self, most: int) -> list[str]:
        ranked = sorted(self.frequencies.items(), key=lambda term: (-term[1], term[0]))
        return [word for word, _ in ranked[:most]]

    def uncovered(self, most: int) -> list[str]:
        """Words of the request that nothing given speaks of."""
        asked = frozenset(words(self.instructions or self.task.title))
        return sorted(word for word in asked if word not in self.frequencies)[:most] if self.sources else []

    def _best(self, among: Sequence[Sentence], most: int) -> list[Sentence]:
        order = sorted(range(len(among)), key=lambda place: (-self._weight(among[place]), place))
        return [among[place] for place in sorted(order[:most])]

    def _weight(self, sentence: Sentence) -> float:
        said = set(words(sentence.text))
        return sum(self.frequencies[word] + 2 * (word in self.focus) for word in sorted(said)) / (len(said) + 3)


def _plain(value: Any) -> str:
    return "\n".join(_lines(value))


def _lines(value: Any, name: str = "") -> Iterable[str]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _lines(inner, str(key))
    elif isinstance(value, list):
        for inner in value:
            yield from _lines(inner, name)
    else:
        yield f"{name}: {value if isinstance(value, str) else json.dumps(value)}"
