"""Two agents that remember, and libraries as two processes would have them: each with a pool of its own."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest

from app.agents import service as agents
from app.agents.models import Agent
from app.agents.spec import AgentSpec
from app.config import Settings, load_settings
from app.db.engine import Database
from app.db.transaction import Transactions
from app.embeddings.static import StaticEmbedder
from app.memories import service
from app.memories.library import Library
from app.memories.models import MemoryKind
from app.memories.service import Remembered
from app.redis import Redis
from app.teams.models import Team
from tests.app.conftest import ACTOR

Tell = Callable[..., Awaitable[Remembered]]


@pytest.fixture
def settings(database_url: str, redis_url: str) -> Settings:
    return load_settings(DATABASE_URL=database_url, REDIS_URL=redis_url, pool_size=20)


@pytest.fixture
async def kyra(transaction: Transactions, team: Team) -> Agent:
    async with transaction() as session:
        return await agents.create(session, team_id=team.id, spec=AgentSpec(slug="kyra", name="Kyra"), actor=ACTOR)


@pytest.fixture
async def luke(transaction: Transactions, team: Team, kyra: Agent) -> Agent:
    async with transaction() as session:
        return await agents.create(session, team_id=team.id, spec=AgentSpec(slug="luke", name="Luke"), actor=ACTOR)


@pytest.fixture
def tell(transaction: Transactions, team: Team) -> Tell:
    """Remember in a transaction of its own."""

    async def remember(text: str, kind: MemoryKind | None = MemoryKind.SHARED, **more: Any) -> Remembered:
        async with transaction() as session:
            return await service.remember(session, team_id=team.id, kind=kind, text=text, actor=ACTOR, **more)

    return remember


@pytest.fixture
async def libraries(settings: Settings, transaction: Transactions) -> AsyncIterator[tuple[Library, Library]]:
    embedder = StaticEmbedder()
    pools = [(Database(settings), Redis(settings)) for _ in range(2)]
    first, second = (Library(database, transaction, embedder, redis) for database, redis in pools)
    yield first, second
    for database, redis in pools:
        await redis.close()
        await database.close()
