"""Scores routing on the labelled queries, beside plain cosine, and times it."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Sequence
from functools import partial
from statistics import median

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
from tests.fixtures.labelled import Kind, Labelled, held_out, profiles, returning, tuning

Match = tuple[str, bool]  # the agent that ranks first, and whether its score is above the cut
Matcher = Callable[[str, Vectors], Match]
TEAM_SIZES = (10, 100, 1_000)
RATED_PERCENT = (0, 25, 50, 75, 100)
GROUPS: dict[str, Callable[[Labelled], bool]] = {
    **{kind.value: partial(lambda kind, query: query.kind is kind, kind) for kind in Kind},
    "paraphrase, blind": lambda query: query.kind is Kind.PARAPHRASE and query.blind,
    "off_topic, blind": lambda query: query.kind is Kind.OFF_TOPIC and query.blind,
}


class RoutingBenchmark:
    def __init__(self) -> None:
        self.embedder = StaticEmbedder()
        background = self.embedder.embed_now(lexicon().background)
        self.calibration: Calibration = calibrate(self.embedder.name, background)

    def build_index(self, agents: Sequence[AgentProfile]) -> TeamIndex:
        vectors = self.embedder.embed_now([phrase.text for phrase in phrases_of(agents)])
        return build(agents, vectors, self.calibration)

    def blended_matcher(self, index: TeamIndex) -> Matcher:
        def match(text: str, vector: Vectors) -> Match:
            best = max(skill_matches(index, Query(text, vector)), key=lambda skill_match: skill_match.value)
            return best.slug, best.value >= MATCHES

        return match

    def cosine_matcher(self, index: TeamIndex) -> Matcher:
        """Matches by the best cosine of one skill; as many off-topic tuning queries fall back as with the blend."""
        off_topic = [query.text for query in tuning() if query.kind is Kind.OFF_TOPIC]
        best = np.sort((index.vectors @ self.embedder.embed_now(off_topic).T).max(axis=0))
        share = self.score(tuning(), self.blended_matcher(index))["off_topic"]["falls_back"]
        cut = best[min(round(share * len(best)), len(best) - 1)]

        def match(text: str, vector: Vectors) -> Match:
            cosines = index.vectors @ vector
            place = int(cosines.argmax())
            return index.phrases[place].slug, bool(cosines[place] > cut)

        return match

    def score(self, queries: Sequence[Labelled], match: Matcher) -> dict[str, dict[str, float]]:
        """Returns the shares of queries, by group, that rank first, are routed and fall back."""
        vectors = self.embedder.embed_now([query.text for query in queries])
        matches = [(query, *match(query.text, vector)) for query, vector in zip(queries, vectors, strict=True)]
        shares: dict[str, dict[str, float]] = {}
        for name, is_member in GROUPS.items():
            group = [(slug in query.agents, passed) for query, slug, passed in matches if is_member(query)]
            if not group:
                continue
            shares[name] = {
                "queries": len(group),
                "first": float(np.mean([right for right, _ in group])),
                "routed": float(np.mean([right and passed for right, passed in group])),
                "falls_back": float(np.mean([not passed for _, passed in group])),
            }
        fallbacks = [query.kind is Kind.OFF_TOPIC for query, _, passed in matches if not passed]
        shares["fallback"] = {"precision": float(np.mean(fallbacks)) if fallbacks else 1.0, "queries": len(fallbacks)}
        return shares

    def score_unseen(self, index: TeamIndex) -> dict[str, float]:
        """Returns the share of right agents on texts that were written after the lexicon."""
        texts = [
            Labelled(text, Kind.PARAPHRASE, frozenset({need.agent}))
            for need in returning()
            for text in (need.rated, need.later)
        ]
        matchers = {"blended": self.blended_matcher(index), "plain cosine": self.cosine_matcher(index)}
        return {name: self.score(texts, matcher)["paraphrase"]["first"] for name, matcher in matchers.items()}

    def learning_curve(self) -> dict[int, dict[str, float]]:
        """Returns how well needs that come back are routed, by the percentage of them that was rated before."""
        needs = returning()
        later = [Labelled(need.later, Kind.PARAPHRASE, frozenset({need.agent})) for need in needs]
        others = [query for query in held_out() if query.kind is not Kind.PARAPHRASE]
        curve = {}
        for percent in RATED_PERCENT:
            rated: dict[str, tuple[str, ...]] = {}
            for place, need in enumerate(needs):
                if place * 37 % len(needs) < percent / 100 * len(needs):
                    rated[need.agent] = (*rated.get(need.agent, ()), need.rated)
            kinds = self.score([*later, *others], self.blended_matcher(self.build_index(profiles(rated))))
            curve[percent] = {
                "routed": kinds["paraphrase"]["routed"],
                "shared": kinds["shared"]["routed"],
                "falls_back": kinds["off_topic"]["falls_back"],
            }
        return curve

    def measure_speed(self, size: int, rounds: int) -> dict[str, float]:
        """Returns microseconds per query: of the skill match, of a plain cosine over the same skills, and of the whole
        way from the text to the selected agents. The cache of spellings is empty at the start of each round."""
        index = self.build_index(_large_team(size))
        texts = [query.text for query in tuning()]
        vectors = self.embedder.embed_now(texts)
        pairs = list(zip(texts, vectors, strict=True))
        score, cosine, whole = [], [], []
        gc.freeze()  # as an API process does when it starts
        for _ in range(rounds):
            for text, _vector in pairs:
                whole.append(_microseconds(partial(self._route, index, text)))
            index.spellings.meant.cache_clear()
            for text, vector in pairs:
                score.append(_microseconds(partial(_match_skills, index, text, vector)))
                cosine.append(_microseconds(partial(_match_cosine, index, vector)))
            index.spellings.meant.cache_clear()
        p99 = float(np.percentile(whole, 99))
        return {"score_us": median(score), "cosine_us": median(cosine), "whole_us": median(whole), "whole_p99_us": p99}

    def _route(self, index: TeamIndex, text: str) -> None:
        query = Query(text, self.embedder.embed_now([text])[0])
        select(candidates(index, query, ratings={}, loads={}), Policy(), default=None)


def _large_team(size: int) -> list[AgentProfile]:
    """Repeats the labelled agents up to a size, each copy with another subject in the names of its skills."""
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


def _match_skills(index: TeamIndex, text: str, vector: Vectors) -> None:
    skill_matches(index, Query(text, vector))


def _match_cosine(index: TeamIndex, vector: Vectors) -> None:
    index.by_agent(index.vectors @ vector)


def _microseconds(call: Callable[[], object]) -> float:
    started = time.perf_counter()
    call()
    return (time.perf_counter() - started) * 1e6
