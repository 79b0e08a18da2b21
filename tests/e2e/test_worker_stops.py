"""A worker that is stopped gives its work back at once; the work of one that is killed runs again within 15 seconds."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from app.config import Flags
from tests.fixtures.desk import Desk
from tests.fixtures.installation import Installation

PATIENCE_S = 60.0


async def attempt(installation: Installation, number: int) -> Any:
    """The attempt of the team's only task, as soon as there is one."""
    sql = "select outcome, started_at, ended_at from task_attempt where team_id = $1 and number = $2"
    async with asyncio.timeout(PATIENCE_S):
        while (found := await installation.database.fetchrow(sql, installation.team.id, number)) is None:  # noqa: ASYNC110
            await asyncio.sleep(0.05)
    return found


@pytest.mark.timeout(120)
async def test_stopped_and_killed(installation: Installation) -> None:
    flags = Flags(task_delegation=True)
    desk = Desk(
        installation.transaction, installation.settings.model_copy(update={"flags": flags}), installation.team.id
    )
    worker = installation.another("worker")
    worker.environment |= {"PARLEY_SHUTDOWN_GRACE_S": "0.5"}
    task = await desk.delegate("asker", "worker", instructions="@wait 500", timeout_seconds=600)
    try:
        worker.launch()
        await attempt(installation, 1)
        await asyncio.to_thread(worker.terminate)
        assert await desk.status(task) == ["pending"]
        assert (await attempt(installation, 1))["outcome"] == "released"

        worker.launch()
        await attempt(installation, 2)
        await asyncio.to_thread(worker.kill)
        killed_at = await installation.database.fetchval("select clock_timestamp()")
        worker.launch()
        again = await attempt(installation, 3)
    finally:
        worker.end()

    assert (await attempt(installation, 2))["outcome"] == "lost"
    assert (again["started_at"] - killed_at).total_seconds() < 15
    assert "Traceback" not in worker.log.read_text()
