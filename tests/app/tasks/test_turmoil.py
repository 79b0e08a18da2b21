"""Everything at once: delegations, ends, cancellations and sweeps on the same trees meet without a deadlock."""

from __future__ import annotations

import asyncio
import random

import pytest

from app.errors import AppError
from app.tasks.models import OPEN, Task
from app.tasks.sweeper import sweep
from tests.fixtures.desk import Desk


@pytest.mark.parametrize("seed", [1, 2, 3])
async def test_turmoil_leaves_nothing_open_and_nothing_reserved(desk: Desk, seed: int) -> None:
    chance = random.Random(seed)
    for number in range(12):
        await desk.agent(f"agent-{number}")
    tops = [await desk.working(f"agent-{n}", f"agent-{n + 1}", budget_usd="2") for n in range(4)]
    middles = [await desk.working(None, f"agent-{n + 6}", parent=top, budget_usd="1") for n, top in enumerate(tops)]
    leaves = [await desk.working(None, "agent-11", parent=one, budget_usd="0.2") for one in middles]
    waiting = [await desk.delegate("agent-0", "agent-10", needs=[one, chance.choice(tops)]) for one in leaves]

    async def below(parent: Task) -> Task:
        needs = chance.sample(waiting + leaves, 2)
        return await desk.delegate(None, f"agent-{chance.randrange(12)}", parent=parent, needs=needs, budget_usd="0.1")

    steps = [
        *(desk.complete(task, cost="0.01") for task in leaves + middles[:2]),
        *(desk.fail(task, may_pass=chance.random() < 0.5, cost="0.02") for task in middles + tops[:1]),
        *(desk.cancel(task) for task in [*tops, *chance.sample(leaves, 2), *waiting]),
        *(below(parent) for parent in middles + tops for _ in range(2)),
        *(sweep(desk.transaction) for _ in range(3)),
    ]
    chance.shuffle(steps)
    outcomes = await asyncio.gather(*steps, return_exceptions=True)

    strange = [one for one in outcomes if isinstance(one, BaseException) and not isinstance(one, AppError)]
    assert strange == []
    for task in await desk.open_tasks():  # what slipped in late, or waits for its next attempt
        if (await desk.read(task)).status in OPEN:
            await desk.cancel(task)
    assert await desk.open_tasks() == []
    assert await desk.reserved() == 0
