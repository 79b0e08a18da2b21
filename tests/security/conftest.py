"""The fixtures of the attacks."""

from __future__ import annotations

import pytest

from app.ids import new_id
from tests.fixtures.attack import Target
from tests.fixtures.installation import Installation
from tests.fixtures.parley import make_team


@pytest.fixture
async def target(installation: Installation) -> Target:
    bystander = await make_team(installation.transaction, f"bystander-{new_id().hex[-8:]}")
    return Target(installation, bystander, installation.server.url, installation.server.pid)
