"""Finds agents for work and for queries. Reads only: nothing is logged, reserved or promised."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from uuid import UUID

import numpy as np
import structlog

from app.db.engine import Database
from app.discovery.experts import Expert, holdings, ranked, required_skills
from app.discovery.recommendations import excerpt, recommended
from app.embeddings.embedder import DIMENSIONS, Embedder, EmbeddingFailed
from app.errors import check_text
from app.routing import facts
from app.routing.load import load_balance
from app.routing.models import MAX_QUERY
from app.routing.skill_match import Query, SkillMatch, skill_matches
from app.routing.team_indexes import TeamIndexes
from app.tasks.availability import MAX_OPEN_TASKS

log = structlog.get_logger(__name__)
_PORTRAITS = "select id, tagline, personality from agent where team_id = $1 and id = any($2)"


@dataclass(frozen=True)
class FoundExpert:
    agent_id: UUID
    active_tasks: int
    expert: Expert


@dataclass(frozen=True)
class Recommendation:
    agent_id: UUID
    tagline: str
    personality: str  # its beginning
    match: SkillMatch


async def find_experts(
    database: Database,
    indexes: TeamIndexes,
    embedder: Embedder,
    *,
    team_id: UUID,
    required: Sequence[str],
    exclude: Collection[UUID] = (),
    first: int,
) -> list[FoundExpert]:
    """Active agents that hold any of the required skills, best first; raises InvalidInput."""
    names = required_skills(required)
    known = await indexes.get(team_id)
    queries = await _queries(embedder, names)
    held = await asyncio.to_thread(holdings, known.index, queries)
    able = {slug: found for slug, found in held.items() if found and known.agents[slug].id not in exclude}
    loads = await facts.loads(database, team_id) if able else {}
    order = ranked(
        Expert(
            slug=slug,
            holds=able[slug],
            missing=tuple(name for name in names if name not in {one.required for one in able[slug]}),
            available=load.queue_depth < MAX_OPEN_TASKS,
            load=1 - load_balance(load),
        )
        for slug, load in loads.items()
        if slug in able
    )
    return [FoundExpert(known.agents[one.slug].id, loads[one.slug].queue_depth, one) for one in order[:first]]


async def recommend(
    database: Database, indexes: TeamIndexes, embedder: Embedder, *, team_id: UUID, query: str, first: int
) -> list[Recommendation]:
    """Active agents whose skills the query is about, best first; raises InvalidInput."""
    text = check_text("query", query, least=1, most=MAX_QUERY)
    known = await indexes.get(team_id)
    [asked] = await _queries(embedder, [text])
    found = recommended(await asyncio.to_thread(skill_matches, known.index, asked))[:first]
    ids = [known.agents[match.slug].id for match in found]
    rows = await database.fetch(_PORTRAITS, team_id, ids)
    portraits = {row["id"]: row for row in rows}
    return [
        Recommendation(key, portraits[key]["tagline"], excerpt(portraits[key]["personality"]), match)
        for key, match in zip(ids, found, strict=True)
    ]


async def skill_matches_of(indexes: TeamIndexes, embedder: Embedder, team_id: UUID, text: str) -> dict[str, float]:
    """How well each active agent's skills match a text, by slug."""
    known = await indexes.get(team_id)
    [asked] = await _queries(embedder, [text])
    return {match.slug: match.value for match in await asyncio.to_thread(skill_matches, known.index, asked)}


async def _queries(embedder: Embedder, texts: list[str]) -> list[Query]:
    """With vectors of zeros when the embedder fails: words and subjects then decide alone."""
    try:
        vectors = await embedder.embed(texts)
    except EmbeddingFailed as error:
        log.warning("agents are found without the meaning of what was asked", error=error.message)
        vectors = np.zeros((len(texts), DIMENSIONS), dtype=np.float32)
    return [Query(text, vectors[place : place + 1]) for place, text in enumerate(texts)]
