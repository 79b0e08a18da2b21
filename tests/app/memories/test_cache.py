"""The cache of recalls changes no answer: not under races, not without Redis, not with rubbish in it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from datetime import datetime, timedelta

import orjson
import pytest
from sqlalchemy import func, text, update

from app.agents.models import Agent
from app.clock import now
from app.config import Settings
from app.db.engine import Database
from app.db.transaction import Transactions
from app.embeddings.embedder import EmbeddingFailed, Vectors
from app.embeddings.static import StaticEmbedder
from app.memories import service
from app.memories.library import Library
from app.memories.models import Memory, MemoryKind
from app.redis import Redis
from app.teams.models import Team
from tests.app.conftest import ACTOR
from tests.app.memories.conftest import Tell


class Counting(StaticEmbedder):
    """Counts what it is asked; an answer from the cache asks nothing."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[str] = []
        self.broken = False

    async def embed(self, texts: Sequence[str]) -> Vectors:
        if self.broken:
            raise EmbeddingFailed("It is away.", may_pass=True)
        self.asked += texts
        return await super().embed(texts)


@pytest.fixture
def embedder() -> Counting:
    return Counting()


@pytest.fixture
async def redis(settings: Settings) -> AsyncIterator[Redis]:
    opened = Redis(settings)
    yield opened
    await opened.close()


@pytest.fixture
async def library(
    settings: Settings, transaction: Transactions, embedder: Counting, redis: Redis
) -> AsyncIterator[Library]:
    database = Database(settings)
    yield Library(database, transaction, embedder, redis)
    await database.close()


async def test_every_recall_sees_what_was_committed_before_it(
    team: Team, kyra: Agent, luke: Agent, tell: Tell, libraries: tuple[Library, Library]
) -> None:
    """Readers with pools of their own ask while a writer writes; what was committed when they began must be there."""
    committed: list[str] = []
    seen_at_once, done = 0, False

    async def write() -> None:
        nonlocal done
        for number in range(12):
            fact = f"Fact number {number} of the release."
            await tell(fact, agent_id=kyra.id)
            committed.append(fact)
            await asyncio.sleep(0)
        done = True

    async def read(library: Library, agent: Agent) -> None:
        nonlocal seen_at_once
        while not done:
            before = set(committed)
            found = await library.recall(team_id=team.id, agent_id=agent.id, text="release facts", limit=100)
            assert before <= {one.text for one in found}
            seen_at_once += bool(before)

    first, second = libraries
    await asyncio.gather(write(), *(read(library, agent) for library in (first, second) for agent in (kyra, luke)))

    assert seen_at_once > 0
    for library in libraries:
        assert len(await library.recall(team_id=team.id, agent_id=luke.id, text="release facts", limit=100)) == 12


async def test_answers_come_from_the_cache_until_something_of_the_reader_changes(
    transaction: Transactions, team: Team, kyra: Agent, luke: Agent, tell: Tell, library: Library, embedder: Counting
) -> None:
    first = await tell("The office is in Graz.", expires_at=now() + timedelta(hours=1))

    async def ask() -> tuple[list[str], bool]:
        """What was recalled, and whether it came from the cache."""
        embedder.asked.clear()
        found = await library.recall(team_id=team.id, agent_id=kyra.id, text="office")
        return [one.text for one in found], not embedder.asked

    assert await ask() == (["The office is in Graz."], False)
    assert await ask() == (["The office is in Graz."], True)
    await tell("Luke likes his office.", MemoryKind.PRIVATE, agent_id=luke.id)
    assert (await ask())[1]
    await tell("The office is in Graz", importance=0.9)
    assert not (await ask())[1]
    async with transaction() as session:
        await service.forget(session, team_id=team.id, memory_id=first.memory.id, actor=ACTOR)
    assert await ask() == ([], False)
    assert await ask() == ([], True)


async def test_an_answer_ends_with_the_first_memory_that_expires(
    transaction: Transactions, team: Team, kyra: Agent, tell: Tell, library: Library, redis: Redis
) -> None:
    await tell("Open until noon.", expires_at=now() + timedelta(hours=1))
    assert len(await library.recall(team_id=team.id, agent_id=kyra.id, text="noon")) == 1

    # As if the hour were over: time changes no version.
    (key,) = await redis.client.keys("parley:recall:*")
    entry = orjson.loads(await redis.client.get(key))
    assert datetime.fromisoformat(entry["until"]) > now()
    await redis.client.set(key, orjson.dumps(entry | {"until": (now() - timedelta(seconds=1)).isoformat()}))
    async with transaction() as session:
        await session.execute(update(Memory).values(expires_at=func.now() - text("interval '1 s'")))

    assert await library.recall(team_id=team.id, agent_id=kyra.id, text="noon") == []


async def test_without_redis_or_with_rubbish_in_it_or_without_an_embedder_the_answer_is_the_same(
    settings: Settings, transaction: Transactions, database: Database, team: Team, kyra: Agent, tell: Tell,
    library: Library, redis: Redis, embedder: Counting,
) -> None:  # fmt: skip
    for fact in ("The office is in Graz.", "Whales sing.", "Lunch is at noon."):
        await tell(fact)

    async def ask(of: Library) -> list[str]:
        return [one.text for one in await of.recall(team_id=team.id, agent_id=kyra.id, text="the office in Graz")]

    right = await ask(library)
    assert right[0] == "The office is in Graz."
    assert await ask(library) == right
    (key,) = await redis.client.keys("parley:recall:*")
    for rubbish in (b"", b"no json", b"[]", b'{"version": 1}', b'{"version": "x", "until": null, "memories": []}'):
        await redis.client.set(key, rubbish)
        assert await ask(library) == right
    await redis.client.flushall()
    assert await ask(library) == right
    away = Redis(settings.model_copy(update={"redis_url": "redis://127.0.0.1:1"}))
    assert await ask(Library(database, transaction, embedder, away)) == right
    await away.close()

    embedder.broken = True
    await redis.client.flushall()
    assert (await ask(library))[0] == right[0]
    assert await redis.client.keys("parley:recall:*") == []
