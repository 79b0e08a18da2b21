"""What tests of services share: transactions on the test's own database, a team in it, and its events."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable

import pytest
from sqlalchemy import select

from app.config import Settings, load_settings
from app.db.engine import Database
from app.db.transaction import AfterCommit, Transactions
from app.events.log import Actor
from app.events.models import Event
from app.teams import service as teams
from app.teams.models import Team

ACTOR = Actor("a test")
Kinds = Callable[[], Awaitable[list[str]]]


@pytest.fixture
def settings(database_url: str) -> Settings:
    return load_settings(DATABASE_URL=database_url, pool_size=20)


@pytest.fixture
async def database(settings: Settings) -> AsyncIterator[Database]:
    opened = Database(settings)
    yield opened
    await opened.close()


@pytest.fixture
def transaction(database: Database) -> Transactions:
    async def dispatch(_pending: AfterCommit) -> None:
        pass

    return Transactions(database, dispatch)


@pytest.fixture
def actor() -> Actor:
    return ACTOR


@pytest.fixture
async def team(transaction: Transactions) -> Team:
    async with transaction() as session:
        return await teams.create(session, slug="writers", name="Writers", actor=ACTOR)


@pytest.fixture
def kinds(transaction: Transactions, team: Team) -> Kinds:
    """The kinds of the team's events so far, in order, without its creation."""

    async def read() -> list[str]:
        async with transaction() as session:
            mine = select(Event.kind).where(Event.team_id == team.id).order_by(Event.position, Event.id)
            return [str(kind) for kind in await session.scalars(mine)][1:]

    return read
