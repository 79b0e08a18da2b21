"""The sweeper's job: run twice in a row it leaves one effect."""

from __future__ import annotations

from typing import Any

import pytest

from app.config import Flags
from jobs.context import JobContext
from jobs.sweeper import sweep_tasks
from tests.fixtures.desk import Desk
from tests.fixtures.parley import Parley


@pytest.fixture
def ctx(parley: Parley) -> dict[str, Any]:
    made: dict[str, Any] = {}
    JobContext(parley.settings, parley.database, parley.transaction).put_into(made)
    return made


async def test_a_lost_attempt_is_taken_back_once(parley: Parley, ctx: dict[str, Any]) -> None:
    settings = parley.settings.model_copy(update={"flags": Flags(task_delegation=True)})
    desk = Desk(parley.transaction, settings, parley.home.id)
    desk.agents = {"kyra": parley.home.kyra, "luke": parley.home.luke}
    task = await desk.working("kyra", "luke")
    await desk.sql("update task set lease_until = now() - interval '1 s'")

    await sweep_tasks(ctx)
    await sweep_tasks(ctx)

    assert await desk.kinds(task) == ["task.created", "task.claimed", "task.requeued"]
