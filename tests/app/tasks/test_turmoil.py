"""Everything at once: delegations, ends, cancellations and sweeps on the same trees meet without a deadlock."""

from __future__ import annotations

import asyncio
import random
from uuid import UUID

import pytest

from app.errors import AppError, Unavailable
from app.tasks.completion import Completion, complete_all
from app.tasks.models import OPEN, Task
from app.tasks.service import Delegation, delegate
from app.tasks.spec import parse_task
from app.tasks.sweeper import sweep
from app.tasks.tool_calls import ToolCallSpec, record
from tests.fixtures.desk import ACTOR, Desk


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


@pytest.mark.parametrize("seed", [1, 2])
async def test_batches_of_completions_and_recorded_delegations_join_the_turmoil(desk: Desk, seed: int) -> None:
    """What workers do: complete many at once, and delegate and record the call in one transaction."""
    chance = random.Random(seed)
    for number in range(12):
        await desk.agent(f"agent-{number}")
    tops = [await desk.working(f"agent-{n}", f"agent-{n + 1}", budget_usd="4") for n in range(4)]
    leaves = [
        await desk.working(None, f"agent-{n + 6}", parent=top, budget_usd="0.5", title=str(again))
        for n, top in enumerate(tops)
        for again in range(2)
    ]
    waiting = [await desk.delegate("agent-0", "agent-11", needs=[one]) for one in leaves[:3]]

    async def complete_together(tasks: list[Task]) -> set[UUID]:
        asked = [Completion(task.claim_token, ACTOR, "Done.") for task in tasks if task.claim_token]
        async with desk.transaction() as session:
            return set(await complete_all(session, asked))

    async def delegate_and_record(parent: Task, number: int) -> None:
        claim = {"team_id": desk.team_id, "task_id": parent.id, "claim_token": parent.claim_token, "actor": ACTOR}
        wanted = Delegation(
            spec=parse_task({"type": "research", "title": "below", "instructions": f"Look {number} up."}),
            assignee_id=(await desk.agent("agent-10")).id,
            parent_id=parent.id,
            claim_token=parent.claim_token,
        )
        async with desk.transaction() as session:
            made = await delegate(session, team_id=desk.team_id, wanted=wanted, settings=desk.settings, actor=ACTOR)
            call = ToolCallSpec(name="delegate_task", arguments={})
            await record(session, **claim, call=call, created_task_id=made.id)

    steps = [
        complete_together(leaves[:4]),
        complete_together(leaves[4:]),
        *(delegate_and_record(chance.choice(tops), number) for number in range(8)),
        *(
            desk.delegate(None, "agent-11", parent=top, needs=chance.sample(leaves, 2), budget_usd="0.1")
            for top in tops
        ),
        *(desk.cancel(one) for one in [*tops[:2], *waiting[:1]]),
        *(desk.heartbeat(one, cost="0.001") for one in leaves),
    ]
    chance.shuffle(steps)
    outcomes = await asyncio.gather(*steps, return_exceptions=True)

    strange = [one for one in outcomes if isinstance(one, BaseException) and not isinstance(one, AppError)]
    assert strange == []
    assert [one for one in outcomes if isinstance(one, Unavailable)] == []  # a deadlock is told as such
    for task in await desk.open_tasks():
        if (await desk.read(task)).status in OPEN:
            await desk.cancel(task)
    assert await desk.reserved() == 0
