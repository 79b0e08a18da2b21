"""Finds agents for work and for queries. Reads only: nothing is logged, reserved or promised."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from sqlalchemy import select

from app.agents.models import Agent
from app.db.engine import Database, available
from app.discovery.availability import attempt_seconds, open_tasks, reason
from app.discovery.experts import Expert, holdings, ranked, required_skills
from app.discovery.recommendations import excerpt, recommended
from app.embeddings.embedder import Embedder
from app.errors import check_text
from app.routing.load import Load, load_balance
from app.routing.models import MAX_QUERY
from app.routing.skill_match import Query, SkillMatch, skill_matches
from app.routing.team_indexes import KnownTeam, TeamIndexes


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
    rows = await _read(database, team_id, known, able, _WORKLOAD)
    order = ranked(
        Expert(
            slug=slug,
            holds=able[slug],
            missing=tuple(name for name in names if name not in {one.required for one in able[slug]}),
            available=row.reason is None,
            load=1 - load_balance(Load(queue_depth=row.open_tasks, average_response_s=row.attempt_seconds or 0.0)),
        )
        for slug, row in rows.items()
    )
    return [FoundExpert(rows[one.slug].id, rows[one.slug].open_tasks, one) for one in order[:first]]


async def recommend(
    database: Database, indexes: TeamIndexes, embedder: Embedder, *, team_id: UUID, query: str, first: int
) -> list[Recommendation]:
    """Active agents whose skills the query is about, best first; raises InvalidInput."""
    text = check_text("query", query, least=1, most=MAX_QUERY)
    known = await indexes.get(team_id)
    [asked] = await _queries(embedder, [text])
    found = recommended(await asyncio.to_thread(skill_matches, known.index, asked))[:first]
    rows = await _read(database, team_id, known, [match.slug for match in found], _PORTRAIT)
    return [
        Recommendation(rows[match.slug].id, rows[match.slug].tagline, excerpt(rows[match.slug].personality), match)
        for match in found
        if match.slug in rows
    ]


_WORKLOAD = (
    open_tasks(Agent.__table__.c).label("open_tasks"),
    attempt_seconds(Agent.__table__.c).label("attempt_seconds"),
    reason(Agent.__table__.c).label("reason"),
)
_PORTRAIT = (Agent.tagline, Agent.personality)


async def _queries(embedder: Embedder, texts: list[str]) -> list[Query]:
    vectors = await embedder.embed(texts)
    return [Query(text, vectors[place : place + 1]) for place, text in enumerate(texts)]


async def _read(
    database: Database, team_id: UUID, known: KnownTeam, slugs: Collection[str], columns: tuple[Any, ...]
) -> dict[str, Any]:
    """Rows of agents by slug."""
    if not slugs:
        return {}
    wanted = [known.agents[slug].id for slug in slugs]
    statement = select(Agent.id, Agent.slug, *columns).where(Agent.team_id == team_id, Agent.id.in_(wanted))
    async with available(), database.sessions() as session:
        return {row.slug: row for row in await session.execute(statement)}
