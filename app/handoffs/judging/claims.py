"""What a text claims and what it denies: its statements cut into ideas, each with a sign. Pure.

Embeddings alone hold "approved" and "not approved" for almost the same, so whether something is affirmed is read from
the words.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files

LONGEST = 8_000  # characters of a reply that are looked at: the last ones, where a result is told
MOST_CLAIMS = 200
COMMON, TELLING, NAMING = 0.35, 1.0, 2.0  # how much an idea weighs; the letter or number of a name most
# These two read text whose white space is collapsed: one space, or one line break. Longer runs would cost their square.
_BREAK = re.compile(
    r"(?<=[.!?])\s|\n|[;:—–]\s|,\s|\s-\s"
    r"|\s(?:but|however|although|though|and|whereas|while|yet|so|because|that|which)\s"
    r"|\s(?=(?:if|once|when|until|unless|before|after|without)\b)",
    re.IGNORECASE,
)
_UNABLE = re.compile(
    r"\b(?:(?:could|can|did|do|does|was|am|are|is|were|has|have)(?: not| unable to)|fail(?:s|ed)? to)\b", re.IGNORECASE
)
# In research_a, "Research A" and "phase 2" the letter or number is part of a name.
_PART_OF_NAME = re.compile(r"(?<=[a-z0-9])[ _]([A-Z]|\d{1,3})\b(?!['’.]\w)|_([a-z])\b")
_WISH = re.compile(r"\bwould like to\b", re.IGNORECASE)
# What a reply quotes it does not claim: lines that begin with >, and quotations of three words or more.
_QUOTED = re.compile(r"^>.*$|[“\"«][^\s“”\"«»]+(?:\s[^\s“”\"«»]+){2,}[”\"»]", re.MULTILINE)
_WORD = re.compile(r"#?[^\W_]+(?:['’][^\W_]+)?")
_NEGATORS = frozenset(
    "no not never none neither nor nothing nobody without cannot can't isn't aren't wasn't weren't don't doesn't "
    "didn't won't hasn't haven't hadn't couldn't shouldn't wouldn't zero lacks lack free".split()
)
_UNSURE = frozenset(
    "should would could might may perhaps maybe whether will going almost nearly half halfway partly soon likely "
    "hopefully please assuming shall tomorrow later".split()
)
_CONDITIONAL = frozenset("if once when until unless before after".split())
_SMALL = frozenset(
    "a an the and or of to in on at for from by with it its this that these those i we you he she they my our your "
    "their his her as there here me us them so than then into up out any some more further additional now very quite "
    "really just also both too do does did am being been has have had is are was were be will would shall should could "
    "may might which who what where how whether ahead".split()
)
_ENDINGS = ("ations", "ation", "ings", "ing", "ments", "ment", "ies", "ed", "es", "s", "e", "y")


@dataclass(frozen=True, slots=True)
class Claim:
    """`ideas` by name, each with -1 where a word of the opposite stands for it; `denied` for an odd number of
    negations; `sure` is false for wishes, questions and ifs; `weight` is that of all ideas together."""

    text: str
    ideas: dict[str, int]
    denied: bool
    sure: bool
    weight: float


@dataclass(frozen=True, slots=True)
class Agreement:
    """`covered`: how much of the statement a claim speaks of, `focus`: how much of the claim the statement is about,
    both 0 to 1; `denied`: whether it says the opposite."""

    covered: float
    focus: float
    denied: bool
    sure: bool


def claims(text: str) -> list[Claim]:
    """The pieces of a text that can be true by themselves, in order."""
    said = _collapsed(_QUOTED.sub(" ", _collapsed(text)[-LONGEST:]))
    pieces = (piece.strip() for piece in _pieces(said))
    found = [_claim(piece) for piece in pieces if piece]
    return [claim for claim in found if claim.ideas][:MOST_CLAIMS]


def claim_of(statement: str) -> Claim:
    """A condition's clause is one claim however long it is."""
    return _claim(statement)


def agreement(statement: Claim, claim: Claim) -> Agreement:
    shared = statement.ideas.keys() & claim.ideas.keys()
    covered = _weight(shared)
    opposed = sum(statement.ideas[idea] != claim.ideas[idea] for idea in shared) % 2 == 1
    return Agreement(
        covered=covered / statement.weight,
        focus=covered / claim.weight,
        denied=bool(shared) and opposed != (statement.denied != claim.denied),
        sure=claim.sure,
    )


def _weight(ideas: Iterable[str]) -> float:
    return sum(COMMON if idea[0] == "~" else NAMING if idea[0] == "#" else TELLING for idea in ideas)


def _collapsed(text: str) -> str:
    """Without blank lines, and with one space where there was any."""
    return "\n".join(filter(None, (" ".join(line.split()) for line in text.splitlines())))


def _pieces(text: str) -> Iterator[str]:
    """A question mark stays with its piece."""
    at = 0
    for match in _BREAK.finditer(text):
        yield text[at : match.start()]
        at = match.end()
    yield text[at:]


def _claim(text: str) -> Claim:
    plain = _UNABLE.sub("cannot", _WISH.sub("wants to", text))
    plain = _PART_OF_NAME.sub(lambda found: f" #{(found[1] or found[2]).lower()}", plain)
    words = [word.lower().replace("’", "'") for word in _WORD.findall(plain)]
    ideas = dict(_idea(word) for word in words if word not in _NEGATORS and word not in _SMALL)
    denied = sum(word in _NEGATORS for word in words) % 2 == 1
    asserted = not text.rstrip().endswith("?") and not _UNSURE.intersection(words)
    sure = asserted and not _CONDITIONAL.intersection(words[:1])
    return Claim(text, ideas, denied, sure, _weight(ideas) or 1.0)


@lru_cache(maxsize=20_000)
def _idea(word: str) -> tuple[str, int]:
    known = _lexicon()
    return known.get(word) or known.get(stem(word)) or (stem(word), 1)


def stem(word: str) -> str:
    """The word without one common English ending: alike for forms of a word, and nothing more."""
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word[: -len(ending)]
    return word


@cache
def _lexicon() -> dict[str, tuple[str, int]]:
    found: dict[str, tuple[str, int]] = {}
    text = files(__package__).joinpath("lexicon.txt").read_text()
    for line in text.splitlines():
        if line.strip() and not line.startswith("#"):
            common, line = line.startswith("~"), line.removeprefix("~")
            said, _, opposite = line.partition("|")
            name = ("~" if common else "") + stem(said.split()[0])
            for words, sign in ((said.split(), 1), (opposite.split(), -1)):
                for word in words:
                    found.setdefault(word, (name, sign))
                    found.setdefault(stem(word), (name, sign))
    return found
