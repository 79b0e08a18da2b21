"""The desk of the tests of tasks."""

from __future__ import annotations

import pytest

from app.config import Flags, Settings, load_settings
from app.db.transaction import Transactions
from app.teams.models import Team
from tests.fixtures.desk import Desk


@pytest.fixture
def settings(database_url: str) -> Settings:
    return load_settings(DATABASE_URL=database_url, pool_size=20, flags=Flags(task_delegation=True))


@pytest.fixture
def desk(transaction: Transactions, settings: Settings, team: Team) -> Desk:
    return Desk(transaction, settings, team.id)
