"""The index of each team as the database has it now. Kept between queries, and checked by a stamp before every use."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID
from weakref import WeakValueDictionary

import numpy as np
import structlog

from app.db.engine import Database
from app.embeddings.embedder import DIMENSIONS, Embedder, EmbeddingFailed, Vectors
from app.routing.calibration import Calibration, calibrate
from app.routing.lexicon import lexicon
from app.routing.profile import AgentProfile, Skill, Traits
from app.routing.team_index import TeamIndex, build, phrases_of

log = structlog.get_logger(__name__)
MOST_TEAMS = 64
RETRY_S = 5.0  # for so long an index without meanings is kept before the embedder is asked again
BUILT_AT_ONCE = 100  # phrases; more are indexed in a thread, so that other requests go on
WELL_RATED = 4  # stars from which a query becomes an example of what its agent does well
NEWEST_EXAMPLES = 1_000  # of one team
EXAMPLE_CHARACTERS = 1_000

# Every change of an agent raises its version, no agent is ever deleted, and a rating that is given anew gets a new id:
# equal stamps mean equal agents and equal examples, in whatever order the changes were committed.
STAMP = f"""
select default_agent_id, agents.stamp as agents, examples.stamp as examples
from team
cross join lateral (
    select count(*) || '.' || coalesce(sum(version), 0) as stamp from agent where agent.team_id = team.id
) as agents
cross join lateral (
    select count(*) || '.' || coalesce(bit_xor(uuid_hash_extended(newest.id, 0)), 0) as stamp
    from (
        select id from routing_rating where routing_rating.team_id = team.id and stars >= {WELL_RATED}
        order by created_at desc, id desc limit {NEWEST_EXAMPLES}
    ) as newest
) as examples
where team.id = $1
"""
_AGENTS = """
select id, version, slug, name, role, formality, humor, technical_depth,
    array(select skill.name from agent_skill as skill where skill.agent_id = agent.id order by position) as skills,
    array(
        select skill.description from agent_skill as skill where skill.agent_id = agent.id order by position
    ) as described
from agent where team_id = $1 and status = 'active'
"""
_EXAMPLES = f"""
select rated.agent_id, left(query, {EXAMPLE_CHARACTERS}) as query
from (
    select agent_id, decision_id, created_at, id from routing_rating where team_id = $1 and stars >= {WELL_RATED}
    order by created_at desc, id desc limit {NEWEST_EXAMPLES}
) as rated
join routing_decision as decision on decision.id = rated.decision_id
order by rated.created_at desc, rated.id desc
"""


@dataclass(frozen=True)
class ActiveAgent:
    id: UUID
    version: int


@dataclass(frozen=True)
class KnownTeam:
    """The active agents by slug, the index over them, and the default agent's slug, None when none is active."""

    index: TeamIndex
    agents: Mapping[str, ActiveAgent]
    default: str | None
    default_id: UUID | None  # of the default agent, active or not
    blind: bool = False  # whether the embedder was away, so that the index knows words and subjects alone

    def slug_of(self, agent_id: UUID | None) -> str | None:
        """None when no active agent has this id."""
        return next((slug for slug, agent in self.agents.items() if agent.id == agent_id), None)


@dataclass(frozen=True)
class Stamp:
    """Changes with the agents and with the examples of a team; and who its default agent is, which no index has."""

    agents: str = ""
    examples: str = ""
    default_id: UUID | None = None

    @property
    def version(self) -> tuple[str, str]:
        return self.agents, self.examples


def stamp_of(row: Any) -> Stamp:
    """Of a row of STAMP."""
    return Stamp(row["agents"], row["examples"], row["default_agent_id"])


@dataclass(frozen=True)
class _Kept:
    version: tuple[str, str]
    index: TeamIndex
    agents: Mapping[str, ActiveAgent]
    blind_until: float | None = None  # by time.monotonic()

    def is_of(self, stamp: Stamp) -> bool:
        return self.version == stamp.version and (self.blind_until is None or time.monotonic() < self.blind_until)


class TeamIndexes:
    """One a process. Forgetting everything costs time and changes no answer."""

    def __init__(self, database: Database, embedder: Embedder, *, most_teams: int = MOST_TEAMS) -> None:
        self._database, self._embedder = database, embedder
        self._most = most_teams
        self._kept: OrderedDict[UUID, _Kept] = OrderedDict()
        self._building: WeakValueDictionary[UUID, asyncio.Lock] = WeakValueDictionary()
        self._calibration: Calibration | None = None

    async def get(self, team_id: UUID, stamp: Stamp | None = None) -> KnownTeam:
        """One statement while nothing changed, none with a stamp just read. While the embedder is away, an index that
        knows no meanings. Raises Unavailable."""
        stamp = stamp or await self._stamp(team_id)
        kept = self._kept.get(team_id)
        if kept is None or not kept.is_of(stamp):
            lock = self._building.setdefault(team_id, asyncio.Lock())
            async with lock:
                stamp = await self._stamp(team_id)
                kept = self._kept.get(team_id)
                if kept is None or not kept.is_of(stamp):
                    kept = await self._load(team_id, stamp.version, kept)
                    self._kept[team_id] = kept
        self._keep(team_id)
        default = next((slug for slug, agent in kept.agents.items() if agent.id == stamp.default_id), None)
        return KnownTeam(kept.index, kept.agents, default, stamp.default_id, kept.blind_until is not None)

    async def calibration(self) -> Calibration:
        """How the cosines of this process's embedder are to be read. Raises EmbeddingFailed."""
        if self._calibration is None:
            known = await asyncio.to_thread(lexicon)
            background = await self._embedder.embed(known.background)
            self._calibration = calibrate(self._embedder.name, background)
        return self._calibration

    def _keep(self, team_id: UUID) -> None:
        if team_id in self._kept:
            self._kept.move_to_end(team_id)
        while len(self._kept) > self._most:
            self._kept.popitem(last=False)

    async def _stamp(self, team_id: UUID) -> Stamp:
        row = await self._database.fetchrow(STAMP, team_id)
        return stamp_of(row) if row else Stamp()

    async def _load(self, team_id: UUID, version: tuple[str, str], before: _Kept | None) -> _Kept:
        """What is read after its stamp may be newer than the stamp: the next query then only builds once too often."""
        rows = await self._database.fetch(_AGENTS, team_id)
        profiles = _profiles(rows, await self._database.fetch(_EXAMPLES, team_id))
        texts, blind_until = [phrase.text for phrase in phrases_of(profiles)], None
        try:
            calibration = await self.calibration()
            vectors = await self._vectors(texts, before if before and before.blind_until is None else None)
        except EmbeddingFailed as error:
            log.warning("a team is indexed without meanings", error=error.message)
            calibration = Calibration(self._embedder.name, mean=0.0, spread=1.0)
            vectors = np.zeros((len(texts), DIMENSIONS), dtype=np.float32)
            blind_until = time.monotonic() + RETRY_S
        if len(vectors) <= BUILT_AT_ONCE:
            index = build(profiles, vectors, calibration)
        else:
            index = await asyncio.to_thread(build, profiles, vectors, calibration)
        agents = {row["slug"]: ActiveAgent(row["id"], row["version"]) for row in sorted(rows, key=lambda r: r["slug"])}
        return _Kept(version, index, agents, blind_until)

    async def _vectors(self, texts: list[str], before: _Kept | None) -> Vectors:
        """A text that the last index had is not embedded again."""
        known = {phrase.text: place for place, phrase in enumerate(before.index.phrases)} if before else {}
        new = list(dict.fromkeys(text for text in texts if text not in known))
        embedded = dict(zip(new, await self._embedder.embed(new), strict=True)) if new else {}
        vectors = np.zeros((len(texts), DIMENSIONS), dtype=np.float32)
        for place, text in enumerate(texts):
            if text in embedded:
                vectors[place] = embedded[text]
            elif before is not None:
                vectors[place] = before.index.vectors[known[text]]
        return vectors


def _profiles(agents: Iterable[Any], examples: Iterable[Any]) -> list[AgentProfile]:
    learned: dict[UUID, dict[str, None]] = defaultdict(dict)
    for example in examples:
        learned[example["agent_id"]].setdefault(example["query"])
    return [
        AgentProfile(
            slug=agent["slug"],
            name=agent["name"],
            role=agent["role"],
            skills=tuple(map(Skill, agent["skills"], agent["described"])),
            traits=Traits(agent["formality"], agent["humor"], agent["technical_depth"]),
            examples=tuple(learned[agent["id"]]),
        )
        for agent in agents
    ]
