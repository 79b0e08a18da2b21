"""How well each agent's skills match a query, 0 to 1: TF-IDF, embeddings and subjects, blended and calibrated.

A match of MATCHES or more means that the query is about something that the agent can do. The figures behind the
constants, and how far to trust them, are in docs/decisions/0010-skill-match.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from app.embeddings.embedder import Vectors
from app.routing.team_index import QueryWords, TeamIndex
from app.routing.telling import Floats

SUBJECT_OF_SKILL = 0.5
SUBJECT_OF_AGENT = 0.5
MEANING_OF_SKILL = 0.15
MEANING_OF_AGENT = 0.15
WORDS_OF_SKILL = 0.5
SPREAD = 0.0812  # of the default embedder: what the meaning weights count in
MIDDLE = 0.55  # blended score that counts as a match of one half
STEEPNESS = 7.5
MATCHES = 0.35
MOST_SKILLS = 3
DECIMALS = 4


class SkillMatch(NamedTuple):
    slug: str
    value: float
    skills: tuple[str, ...]  # those that match, best first


@dataclass(frozen=True)
class Query:
    text: str
    vector: Vectors  # one row


def skill_matches(index: TeamIndex, query: Query) -> list[SkillMatch]:
    """One match an agent, in the index's order. Rounded, so that machines that add in another order agree."""
    if not index.agents:
        return []
    rows = _blend(index, query)
    values = np.round(_calibrated(index.by_agent(rows)).astype(np.float64), DECIMALS).tolist()
    named = _matching(index, rows)
    return [
        SkillMatch(agent.slug, value, named.get(agent.slug, ()))
        for agent, value in zip(index.agents, values, strict=True)
    ]


def _matching(index: TeamIndex, rows: Floats) -> dict[str, tuple[str, ...]]:
    """The names of the skills that match by themselves, by agent, best first."""
    found: dict[str, list[tuple[float, str]]] = {}
    for place in np.flatnonzero(_calibrated(rows) >= MATCHES):
        phrase = index.phrases[place]
        if phrase.skill is not None:
            found.setdefault(phrase.slug, []).append((-float(rows[place]), phrase.skill))
    return {slug: tuple(name for _, name in sorted(skills)[:MOST_SKILLS]) for slug, skills in found.items()}


def _blend(index: TeamIndex, query: Query) -> Floats:
    read = index.read(query.text)
    subject = index.subjects_of(read)
    meaning = query.vector.reshape(-1)
    of_agent = SUBJECT_OF_AGENT * (index.agent_subjects @ subject) + MEANING_OF_AGENT * _counted(
        index, index.agent_vectors @ meaning, meaning
    )
    sizes = np.diff(np.append(index.starts, len(index.phrases)))
    blended: Floats = (
        SUBJECT_OF_SKILL * (index.subjects @ subject)
        + MEANING_OF_SKILL * _counted(index, index.vectors @ meaning, meaning)
        + WORDS_OF_SKILL * _words_shared(index, read)
        + np.repeat(of_agent, sizes)
    )
    return blended


def _counted(index: TeamIndex, cosines: Floats, meaning: Vectors) -> Floats:
    """Cosines as the default embedder would give them: zero for unrelated texts, in its spread."""
    if not meaning.any():
        return np.zeros_like(cosines)
    return (cosines - index.calibration.mean) * np.float32(SPREAD / index.calibration.spread)


def _words_shared(index: TeamIndex, read: QueryWords) -> Floats:
    """The cosine of TF-IDF weights."""
    total = np.zeros(len(index.phrases), dtype=np.float32)
    weights = {stemmed: sure * index.rarity_of(stemmed) for stemmed, sure in read.sure.items()}
    length = math.sqrt(sum(weight * weight for weight in weights.values()))
    for stemmed, weight in weights.items():
        if stemmed in index.postings:
            places, shares = index.postings[stemmed]
            total[places] += shares * np.float32(weight / length)
    return total


def _calibrated(blended: Floats) -> Floats:
    curve: Floats = 1 / (1 + np.exp(-STEEPNESS * (blended - MIDDLE)))
    return np.where(blended > 0, curve, 0).astype(np.float32)
