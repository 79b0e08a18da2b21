"""A team's index is always that of the database, and is built again only when something changed."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from app.agents import service as agents
from app.agents.models import Agent, AgentStatus
from app.agents.spec import parse_agent
from app.db.engine import Database
from app.db.transaction import Transactions
from app.embeddings.embedder import Vectors
from app.embeddings.static import StaticEmbedder
from app.events.log import Actor
from app.routing.team_indexes import TeamIndexes
from app.teams.models import Team


class Counting:
    """The default embedder, which keeps the texts that it was given."""

    def __init__(self, embedder: StaticEmbedder) -> None:
        self._embedder, self.name = embedder, embedder.name
        self.texts: list[str] = []

    async def embed(self, texts: Sequence[str]) -> Vectors:
        self.texts += texts
        return await self._embedder.embed(texts)


@pytest.fixture
def counting(embedder: StaticEmbedder) -> Counting:
    return Counting(embedder)


@pytest.fixture
async def luke(transaction: Transactions, team: Team, actor: Actor) -> Agent:
    spec = parse_agent({"slug": "luke", "name": "Luke", "skills": [{"name": "code review", "description": "Python"}]})
    async with transaction() as session:
        return await agents.create(session, team_id=team.id, spec=spec, actor=actor)


async def test_index_follows_every_change_and_embeds_each_text_once(
    database: Database, transaction: Transactions, team: Team, luke: Agent, actor: Actor, counting: Counting
) -> None:
    indexes = TeamIndexes(database, counting)
    first, again = await asyncio.gather(indexes.get(team.id), indexes.get(team.id))
    assert first.index is again.index
    assert (first.default, first.agents["luke"].id, first.agents["luke"].version) == ("luke", luke.id, 1)
    assert counting.texts.count("code review: Python") == 1
    counting.texts.clear()

    async with transaction() as session:
        added = [{"name": "code review", "description": "Python"}, {"name": "cooking"}]
        await agents.update_fields(session, team_id=team.id, agent_id=luke.id, fields={"skills": added}, actor=actor)
    changed = await indexes.get(team.id)
    assert [phrase.skill for phrase in changed.index.phrases] == ["code review", "cooking"]
    assert changed.agents["luke"].version == 2
    assert counting.texts == ["cooking: "]

    async with transaction() as session:
        await agents.change_status(session, team_id=team.id, agent_id=luke.id, wanted=AgentStatus.PAUSED, actor=actor)
    paused = await indexes.get(team.id)
    assert (paused.index.agents, paused.default, paused.default_id) == ((), None, luke.id)


async def test_forgotten_teams_are_read_again(database: Database, team: Team, luke: Agent, counting: Counting) -> None:
    indexes = TeamIndexes(database, counting, most_teams=0)

    one, other = await indexes.get(team.id), await indexes.get(team.id)

    assert one.index is not other.index
    assert one.index.phrases == other.index.phrases
