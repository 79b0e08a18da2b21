"""How a run waits for what others do."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from app.config import Settings
from app.db.engine import Database
from app.db.transaction import Transactions
from app.errors import Unavailable
from app.events.log import SYSTEM
from app.managed.tool import Desk
from app.managed.waiting import wait_until
from app.tasks.models import Task
from app.tasks.run import Run


@pytest.fixture
def lent() -> list[str]:
    """What became of the run's place."""
    return []


@pytest.fixture
def desk(transaction: Transactions, settings: Settings, database: Database, lent: list[str]) -> Desk:
    @asynccontextmanager
    async def resting() -> AsyncIterator[None]:
        lent.append("lent")
        yield
        lent.append("back")

    return Desk(Run(Task(), transaction, SYSTEM, resting), settings, database)


async def test_who_does_not_wait_does_not_look(desk: Desk, lent: list[str]) -> None:
    await wait_until(desk, lambda: pytest.fail("it was looked at"), seconds=0)

    assert lent == []


async def test_it_looks_until_it_has_ended_also_when_the_database_was_away(desk: Desk, lent: list[str]) -> None:
    seen: list[bool] = []

    async def ended() -> bool:
        seen.append(len(seen) == 1)
        if not seen[-1]:
            raise Unavailable("The database is away.")
        return True

    await wait_until(desk, ended, seconds=60)

    assert (seen, lent) == ([False, True], ["lent", "back"])


async def test_what_does_not_end_in_time_is_waited_for_no_longer(desk: Desk, lent: list[str]) -> None:
    seen: list[bool] = []

    async def ended() -> bool:
        seen.append(False)
        return False

    await wait_until(desk, ended, seconds=0.1)

    assert (set(seen), lent) == ({False}, ["lent", "back"])
