"""The judge that every installation has: what a reply claims and denies, read from its words, and how near it is in
meaning. How its figures came about, and how far to trust them, is in docs/decisions/0012-handoff-conditions.md."""

from __future__ import annotations

import asyncio
import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from app.embeddings.embedder import Embedder
from app.handoffs.condition.evaluation import Verdict
from app.handoffs.judging.claims import Agreement, Claim, agreement, claim_of, claims

VERSION = "claims-1"
COVERED, DENIED, FOCUS, MEANING, BASE = 5.65, -2.16, 6.31, 0.99, -6.07
DECIMALS = 3
SHOWN = 120  # characters of a claim that a reason quotes
MOST_COMPARED, LEAST_COMPARED = 200_000, 8  # comparisons for a reply; claims for a statement, however many there are


@dataclass(frozen=True, slots=True)
class _Heard:
    """What a reply says to a statement: the claim that affirms it most, and the one that denies it most."""

    statement: str
    said: tuple[Agreement, Claim] | None
    against: tuple[Agreement, Claim] | None


class EmbeddingJudge:
    """Reads in a thread, so that nothing else waits for long texts and many rules."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder

    @property
    def name(self) -> str:
        return f"{VERSION}/{self._embedder.name}"

    async def judge(self, reply: str, statements: Sequence[str]) -> Mapping[str, Verdict]:
        heard = await asyncio.to_thread(lambda: list(_heard(reply, statements)))
        near = await self._nearness({one.statement: one.said[1].text for one in heard if one.said})
        return {one.statement: _verdict(one, near.get(one.statement, 0.0)) for one in heard}

    async def _nearness(self, pairs: Mapping[str, str]) -> dict[str, float]:
        """The cosine of each statement and what is said of it."""
        if not pairs:
            return {}
        vectors = await self._embedder.embed([*pairs.keys(), *pairs.values()])
        cosines = (vectors[: len(pairs)] * vectors[len(pairs) :]).sum(axis=1)
        return {statement: float(cosine) for statement, cosine in zip(pairs, cosines, strict=True)}


def _heard(reply: str, statements: Sequence[str]) -> Iterator[_Heard]:
    """Each statement is compared with the claims that have an idea in common with it; others say nothing of it. Where
    there are very many statements, only with those that have most in common."""
    made = claims(reply)
    most = max(MOST_COMPARED // max(len(statements), 1), LEAST_COMPARED)
    about: dict[str, list[int]] = defaultdict(list)
    for place, claim in enumerate(made):
        for idea in claim.ideas:
            about[idea].append(place)
    for statement in statements:
        wanted = claim_of(statement)
        common = Counter(place for idea in wanted.ideas for place in about.get(idea, ()))
        places = sorted(place for place, _ in common.most_common(most))
        seen = [(agreement(wanted, made[place]), made[place]) for place in places]
        affirming = (one for one in seen if _affirms(one[0]))
        said = max(affirming, key=lambda one: (one[0].covered, one[0].focus), default=None)
        against = max((one for one in seen if one[0].denied), key=lambda one: one[0].covered, default=None)
        yield _Heard(statement, said, against)


def _verdict(heard: _Heard, near: float) -> Verdict:
    said, against = heard.said, heard.against
    total = BASE + (DENIED * against[0].covered if against else 0.0)
    if said is not None:
        covered = said[0].covered
        total += COVERED * covered + FOCUS * covered * said[0].focus + MEANING * max(near, 0.0)
    confidence = round(1 / (1 + math.exp(-total)), DECIMALS)
    return Verdict(confidence, _reason(confidence, said and said[1], against and against[1]))


def _affirms(one: Agreement) -> bool:
    return one.covered > 0 and one.sure and not one.denied


def _reason(confidence: float, said: Claim | None, against: Claim | None) -> str:
    if confidence >= 0.5 and said is not None:
        return f"the reply says: {_quoted(said)}"
    if against is not None:
        return f"the reply denies it: {_quoted(against)}"
    return f"the nearest that the reply says: {_quoted(said)}" if said is not None else "the reply says nothing of it"


def _quoted(claim: Claim) -> str:
    text = claim.text if len(claim.text) <= SHOWN else claim.text[: SHOWN - 1] + "…"
    return f"“{text}”"
