"""How well queries find their agent: on both halves of the labelled set, against plain cosine, with use, and how fast.

Only the second half is evidence: rules and constants were tuned on the first. Needs no server and no network.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Sequence
from functools import partial
from statistics import median
from typing import Any

import numpy as np

from app.embeddings.embedder import Vectors
from app.embeddings.static import StaticEmbedder
from app.routing.calibration import Calibration, calibrate
from app.routing.gate import candidates
from app.routing.lexicon import lexicon
from app.routing.profile import AgentProfile, Skill
from app.routing.select import Policy, select
from app.routing.skill_match import MATCHES, Query, skill_matches
from app.routing.team_index import TeamIndex, build, phrases_of
from tests.fixtures.labelled import Kind, Labelled, Returning, held_out, profiles, returning, tuning

Answer = tuple[str, bool]  # the agent that comes first, and whether it is good enough to be asked
SIZES = (10, 100, 1_000)
RATED_PERCENT = (0, 25, 50, 75, 100)
GROUPS: dict[str, Callable[[Labelled], bool]] = {
    **{kind.value: partial(lambda kind, query: query.kind is kind, kind) for kind in Kind},
    "paraphrase, blind": lambda query: query.kind is Kind.PARAPHRASE and query.blind,
    "off_topic, blind": lambda query: query.kind is Kind.OFF_TOPIC and query.blind,
}


class Bench:
    def __init__(self) -> None:
        self.embedder = StaticEmbedder()
        background = self.embedder.embed_now(lexicon().background)
        self.calibration: Calibration = calibrate(self.embedder.name, background)

    def index(self, agents: Sequence[AgentProfile]) -> TeamIndex:
        vectors = self.embedder.embed_now([phrase.text for phrase in phrases_of(agents)])
        return build(agents, vectors, self.calibration)

    def blended(self, index: TeamIndex) -> Callable[[str, Vectors], Answer]:
        def answer(text: str, vector: Vectors) -> Answer:
            best = max(skill_matches(index, Query(text, vector)), key=lambda match: match.value)
            return best.slug, best.value >= MATCHES

        return answer

    def plain(self, index: TeamIndex) -> Callable[[str, Vectors], Answer]:
        """Best cosine of one skill; the cut lets as many off-topic queries of the first half fall back as ours does."""
        aside = [query.text for query in tuning() if query.kind is Kind.OFF_TOPIC]
        best = np.sort((index.vectors @ self.embedder.embed_now(aside).T).max(axis=0))
        share = self.of(tuning(), self.blended(index))["off_topic"]["falls_back"]
        cut = best[min(round(share * len(best)), len(best) - 1)]

        def answer(text: str, vector: Vectors) -> Answer:
            cosines = index.vectors @ vector
            place = int(cosines.argmax())
            return index.phrases[place].slug, bool(cosines[place] > cut)

        return answer

    def of(self, queries: Sequence[Labelled], answer: Callable[[str, Vectors], Answer]) -> dict[str, dict[str, float]]:
        vectors = self.embedder.embed_now([query.text for query in queries])
        answers = [(query, *answer(query.text, vector)) for query, vector in zip(queries, vectors, strict=True)]
        found: dict[str, dict[str, float]] = {}
        for name, chosen in GROUPS.items():
            own = [(slug in query.agents, enough) for query, slug, enough in answers if chosen(query)]
            if not own:
                continue
            found[name] = {
                "queries": len(own),
                "first": float(np.mean([right for right, _ in own])),
                "routed": float(np.mean([right and enough for right, enough in own])),
                "falls_back": float(np.mean([not enough for _, enough in own])),
            }
        fallen = [query.kind is Kind.OFF_TOPIC for query, _, enough in answers if not enough]
        found["fallback"] = {"precision": float(np.mean(fallen)) if fallen else 1.0, "queries": len(fallen)}
        return found

    def unseen(self, index: TeamIndex) -> dict[str, float]:
        """Share of right agents on the texts that were written last: the lexicon could not know them."""
        texts = [
            Labelled(text, Kind.PARAPHRASE, frozenset({need.agent})) for need in returning() for text in _both(need)
        ]
        ways = {"blended": self.blended(index), "plain cosine": self.plain(index)}
        return {name: self.of(texts, way)["paraphrase"]["first"] for name, way in ways.items()}

    def curve(self) -> dict[int, dict[str, float]]:
        """Needs that come back, routed right, when this share (in percent) of them was answered and rated before."""
        needs = returning()
        later = [Labelled(need.later, Kind.PARAPHRASE, frozenset({need.agent})) for need in needs]
        aside = [query for query in held_out() if query.kind is not Kind.PARAPHRASE]
        found = {}
        for percent in RATED_PERCENT:
            rated: dict[str, tuple[str, ...]] = {}
            for place, need in enumerate(needs):
                if place * 37 % len(needs) < percent / 100 * len(needs):
                    rated[need.agent] = (*rated.get(need.agent, ()), need.rated)
            kinds = self.of([*later, *aside], self.blended(self.index(profiles(rated))))
            found[percent] = {
                "routed": kinds["paraphrase"]["routed"],
                "shared": kinds["shared"]["routed"],
                "falls_back": kinds["off_topic"]["falls_back"],
            }
        return found

    def speed(self, size: int, rounds: int) -> dict[str, float]:
        """Microseconds of a query: of its skill match, of a plain cosine over the same skills, and of everything from
        its text to the chosen agents. No round knows the spellings that the last one looked up."""
        index = self.index(_crowd(size))
        texts = [query.text for query in tuning()]
        vectors = self.embedder.embed_now(texts)
        pairs = list(zip(texts, vectors, strict=True))
        ours, cosine, whole = [], [], []
        gc.freeze()  # as an API process does when it starts
        for _ in range(rounds):
            for text, _vector in pairs:
                whole.append(_microseconds(lambda t=text: self._asked(index, t)))
            index.spellings.meant.cache_clear()
            for text, vector in pairs:
                ours.append(_microseconds(lambda t=text, v=vector: skill_matches(index, Query(t, v))))
                cosine.append(_microseconds(lambda v=vector: index.by_agent(index.vectors @ v)))
            index.spellings.meant.cache_clear()
        p99 = float(np.percentile(whole, 99))
        return {"score_us": median(ours), "cosine_us": median(cosine), "whole_us": median(whole), "whole_p99_us": p99}

    def _asked(self, index: TeamIndex, text: str) -> None:
        found = candidates(index, Query(text, self.embedder.embed_now([text])[0]), ratings={}, loads={})
        select(found, Policy(), default=None)


def measure(*, rounds: int) -> dict[str, Any]:
    bench = Bench()
    index = bench.index(profiles())
    halves = {"tuning": tuning(), "held out": held_out()}
    return {
        "embedder": bench.embedder.name,
        "blended": {name: bench.of(queries, bench.blended(index)) for name, queries in halves.items()},
        "plain cosine": {name: bench.of(queries, bench.plain(index)) for name, queries in halves.items()},
        "unseen": bench.unseen(index),
        "curve": bench.curve(),
        "speed": {size: bench.speed(size, rounds) for size in SIZES},
    }


def _both(need: Returning) -> tuple[str, str]:
    return need.rated, need.later


def _crowd(size: int) -> list[AgentProfile]:
    """A team of any size: the labelled agents again and again, each copy with its own trade in the skills' names."""
    models = profiles()
    subjects = lexicon().names
    return [
        AgentProfile(
            slug=f"{models[place % len(models)].slug}-{place}",
            name=f"{models[place % len(models)].name} {place}",
            role=models[place % len(models)].role,
            skills=tuple(
                Skill(f"{skill.name} for {subjects[place % len(subjects)]}", skill.description)
                for skill in models[place % len(models)].skills
            ),
        )
        for place in range(size)
    ]


def _microseconds(call: Callable[[], object]) -> float:
    started = time.perf_counter()
    call()
    return (time.perf_counter() - started) * 1e6
