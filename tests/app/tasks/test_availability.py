"""Who takes no part or has enough to do is given no work."""

from __future__ import annotations

import asyncio

import pytest

from app.agents.models import AgentStatus
from app.tasks.errors import AgentUnavailable
from app.tasks.models import Task
from tests.fixtures.desk import Desk


@pytest.mark.parametrize(("status", "reason"), [(AgentStatus.PAUSED, "PAUSED"), (AgentStatus.ARCHIVED, "ARCHIVED")])
async def test_an_agent_that_takes_no_part_is_unavailable(desk: Desk, status: AgentStatus, reason: str) -> None:
    await desk.agent("kyra")
    await desk.agent("luke")
    await desk.set_status("luke", status)

    with pytest.raises(AgentUnavailable) as refused:
        await desk.delegate("kyra", "luke")

    assert refused.value.details == {"reason": reason}
    assert (await desk.count(), await desk.reserved()) == (0, 0)


async def test_of_fifty_delegations_to_one_agent_exactly_five_are_made(desk: Desk) -> None:
    await desk.agent("kyra")
    await desk.agent("luke")

    outcomes = await asyncio.gather(
        *(desk.delegate("kyra", "luke", budget_usd="0.1") for _ in range(50)), return_exceptions=True
    )

    made = [outcome for outcome in outcomes if isinstance(outcome, Task)]
    refused = [outcome for outcome in outcomes if isinstance(outcome, AgentUnavailable)]
    assert (len(made), len(refused)) == (5, 45)
    assert {one.details["reason"] for one in refused} == {"AT_CAPACITY"}
    assert await desk.count() == 5
