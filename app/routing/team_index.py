"""A team's skills as matrices, prepared once and asked for every query. Rebuilt when an agent or an example changes."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from app.embeddings.embedder import Vectors, unit
from app.routing.calibration import Calibration
from app.routing.lexicon import lexicon
from app.routing.profile import AgentProfile, Phrase, Traits, phrases
from app.routing.telling import Floats
from app.routing.words import Pair, Spellings, Written, in_order, pairs_of, stem, stems, words

MOST_MENDED = 12  # unknown words of one query whose spelling is looked into
NAME_COUNTS = 2  # a skill's name tells as much as two words of its description


@dataclass(frozen=True)
class QueryWords:
    """A query's stems, each with how surely it was meant: 1, or less for a mended spelling."""

    text: str  # with the mended spellings
    sure: dict[str, float]
    pairs: set[Pair]
    english: float  # the share of its words that are not another language's


@dataclass(frozen=True)
class TeamIndex:
    """Rows are phrases, in the order of agents; `starts` is where each agent's rows begin."""

    agents: tuple[AgentProfile, ...]
    traits: frozenset[Traits]  # of all agents: there are few different ones
    phrases: tuple[Phrase, ...]
    starts: NDArray[np.intp]
    calibration: Calibration
    vectors: Vectors
    agent_vectors: Vectors
    subjects: Floats
    agent_subjects: Floats
    postings: dict[str, tuple[NDArray[np.intp], Floats]]
    rarity: dict[str, float]
    unseen: float
    spellings: Spellings  # of the words of its phrases

    def read(self, text: str) -> QueryWords:
        """The words of a query, misspelt ones as the known word that they were meant to be."""
        sure: dict[str, float] = {}
        order = in_order(text)
        doubtful = [place for place, each in enumerate(order) if not (each.small or self._knows(each.stem))]
        mended: dict[int, float] = {}
        for place in doubtful[:MOST_MENDED]:
            meant = self._meant(order[place].word)
            if meant is not None:
                order[place], mended[place] = Written(meant[0], stem(meant[0]), small=False), meant[1]
        for place, each in enumerate(order):
            if not each.small:
                sure[each.stem] = max(mended.get(place, 1.0), sure.get(each.stem, 0.0))
        return QueryWords(
            text=" ".join(each.word for each in order) if mended else text,
            sure=sure,
            pairs=pairs_of(order),
            english=lexicon().english_of(order),
        )

    def rarity_of(self, stemmed: str) -> float:
        return self.rarity.get(stemmed, self.unseen)

    def subjects_of(self, read: QueryWords) -> Floats:
        told = _subjects(read.sure, read.pairs, self.rarity, self.unseen)
        subjects: Floats = lexicon().with_senses(told[None, :], [read.text], read.english)[0]
        return subjects

    def _knows(self, stemmed: str) -> bool:
        return stemmed in self.rarity or lexicon().knows(stemmed)

    def _meant(self, word: str) -> tuple[str, float] | None:
        """The nearest word that the team's skills or the lexicon have, and how sure that is."""
        found = [meant for meant in (self.spellings.meant(word), lexicon().spellings.meant(word)) if meant is not None]
        return max(found, key=lambda meant: meant[1], default=None)

    def by_agent(self, rows: Floats) -> Floats:
        """The best of each agent's rows."""
        best: Floats = np.maximum.reduceat(rows, self.starts)
        return best


def ordered(agents: Sequence[AgentProfile]) -> list[AgentProfile]:
    """By slug: the same team gives the same matrices, to the last bit, in whichever order it was read."""
    return sorted(agents, key=lambda agent: agent.slug)


def phrases_of(agents: Sequence[AgentProfile]) -> list[Phrase]:
    """The phrases whose vectors `build` wants, in its order."""
    return [phrase for agent in ordered(agents) for phrase in phrases(agent)]


def build(agents: Sequence[AgentProfile], vectors: Vectors, calibration: Calibration) -> TeamIndex:
    """`vectors` are those of the texts of `phrases_of(agents)`, of the embedder that `calibration` names."""
    team, rows = ordered(agents), phrases_of(agents)
    counts = [_counts(row) for row in rows]
    changes = [place for place, row in enumerate(rows) if place == 0 or rows[place - 1].slug != row.slug]
    starts = np.array(changes, dtype=np.intp)
    rarity, unseen = _rarities(team)
    taught = np.array([row.skill is None for row in rows])
    subjects = _matrix([row.text for row in rows], counts, rarity, unseen)
    roles = [agent.role for agent in team]
    own = _matrix(roles, [dict.fromkeys(stems(role), 1.0) for role in roles], rarity, unseen)
    declared = np.where(taught[:, None], 0, subjects).astype(np.float32)
    said = np.where(taught[:, None], 0, vectors).astype(np.float32)
    return TeamIndex(
        agents=tuple(team),
        traits=frozenset(agent.traits for agent in team),
        phrases=tuple(rows),
        starts=starts,
        calibration=calibration,
        vectors=vectors,
        agent_vectors=unit(np.add.reduceat(said, starts)) if rows else vectors,
        subjects=subjects,
        agent_subjects=unit(np.add.reduceat(declared, starts) + own) if rows else subjects,
        postings=_postings(counts, rarity),
        rarity=rarity,
        unseen=unseen,
        spellings=Spellings(word for row in rows for word in words(row.text)),
    )


def _matrix(
    texts: Sequence[str], counts: Sequence[dict[str, float]], rarity: dict[str, float], unseen: float
) -> Floats:
    """The subjects of each text."""
    known = lexicon()
    told = np.zeros((len(texts), len(known.names)), dtype=np.float32)
    for place, (text, count) in enumerate(zip(texts, counts, strict=True)):
        told[place] = _subjects(count, pairs_of(in_order(text)), rarity, unseen)
    return known.with_senses(told, texts) if texts else told


def _counts(phrase: Phrase) -> dict[str, float]:
    name = stems(phrase.skill or "") * (NAME_COUNTS - 1)
    return dict(Counter(stems(phrase.text) + name))


def _rarities(team: Sequence[AgentProfile]) -> tuple[dict[str, float], float]:
    """How rare each stem is among the agents' declared skills, and the rarity of a stem that none of them has."""
    held = Counter(stemmed for agent in team for stemmed in _declared(agent))
    return {stemmed: math.log(1 + len(team) / by) for stemmed, by in held.items()}, math.log(1 + 2 * len(team))


def _declared(agent: AgentProfile) -> set[str]:
    return {stemmed for phrase in phrases(agent) if phrase.skill is not None for stemmed in stems(phrase.text)}


def _subjects(counts: dict[str, float], pairs: Iterable[Pair], rarity: dict[str, float], unseen: float) -> Floats:
    weights = {stemmed: count * rarity.get(stemmed, unseen) for stemmed, count in counts.items()}
    return lexicon().subjects_of(weights, pairs, unseen)


def _postings(
    counts: Sequence[dict[str, float]], rarity: dict[str, float]
) -> dict[str, tuple[NDArray[np.intp], Floats]]:
    """For each stem the rows that have it and its TF-IDF weight there, each row at length one."""
    found: dict[str, tuple[list[int], list[float]]] = {}
    for place, count in enumerate(counts):
        weights = {stemmed: (1 + math.log(times)) * rarity.get(stemmed, 1.0) for stemmed, times in count.items()}
        length = math.sqrt(sum(weight * weight for weight in weights.values()))
        for stemmed, weight in weights.items():
            places, shares = found.setdefault(stemmed, ([], []))
            places.append(place)
            shares.append(weight / length)
    return {
        stemmed: (np.array(places), np.array(shares, dtype=np.float32)) for stemmed, (places, shares) in found.items()
    }
