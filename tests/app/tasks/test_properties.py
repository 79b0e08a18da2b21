"""Random graphs of delegations and dependencies: never too deep, never a circle, and always able to finish."""

from __future__ import annotations

import asyncio
from decimal import Decimal
from typing import Any

import hypothesis
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import select, text

from app.config import Settings
from app.db.engine import Database
from app.db.transaction import Transactions
from app.errors import AppError
from app.tasks.models import MAX_DEPTH, OPEN, Task
from app.teams import service as teams
from tests.fixtures.desk import ACTOR, Desk

AGENTS = [f"agent-{number}" for number in range(6)]
Step = tuple[int, int, int | None, list[int], str]
STEPS = st.lists(
    st.tuples(
        st.integers(0, 5),
        st.integers(0, 5),
        st.none() | st.integers(0, 11),
        st.lists(st.integers(0, 11), max_size=3),
        st.sampled_from(["claim", "fail", "complete", "nothing"]),
    ),
    min_size=4,
    max_size=12,
)
# Chance seldom gets there.
CHILD_WAITS_FOR_WHAT_WAITS_FOR_ITS_PARENT: list[Step] = [
    (0, 1, None, [], "claim"),
    (2, 3, None, [0], "nothing"),
    (0, 4, 0, [1], "nothing"),
]
CIRCLES = """
with recursive edge as (
    select d.task_id, d.needs_id from task_dependency d join task t on t.id = d.task_id join task n on n.id = d.needs_id
        where t.status in ('pending', 'in_progress') and n.status in ('pending', 'in_progress')
    union all
    select parent_id, id from task where parent_id is not null and status in ('pending', 'in_progress')
), waits(start, id) as (
    select task_id, needs_id from edge union select start, edge.needs_id from waits join edge on edge.task_id = waits.id
)
select count(*) from waits where start = id
"""


@pytest.mark.timeout(120)
def test_random_graphs_stay_sound_and_always_finish(settings: Settings) -> None:
    with asyncio.Runner() as runner:
        database = Database(settings)
        desk = runner.run(_open(database, settings))

        @hypothesis.settings(
            max_examples=15,
            deadline=None,
            database=None,
            phases=[hypothesis.Phase.explicit, hypothesis.Phase.generate],
        )
        @hypothesis.example(CHILD_WAITS_FOR_WHAT_WAITS_FOR_ITS_PARENT)
        @given(STEPS)
        def play(steps: list[Step]) -> None:
            runner.run(_play(desk, steps))

        play()
        runner.run(database.close())


async def _open(database: Database, settings: Settings) -> Desk:
    async def ring(_bells: list[Any]) -> None:
        pass

    transaction = Transactions(database, ring)
    async with transaction() as session:
        team = await teams.create(session, slug="writers", name="Writers", actor=ACTOR)
    return Desk(transaction, settings, team.id)


async def _play(desk: Desk, steps: list[Step]) -> None:
    made: list[Task] = []
    for creator, assignee, parent, needs, after in steps:
        above = made[parent] if parent is not None and parent < len(made) else None
        try:
            task = await desk.delegate(
                None if above else AGENTS[creator],
                AGENTS[assignee],
                parent=above,
                needs={made[one].id: made[one] for one in needs if one < len(made)}.values(),
                budget_usd="0.1" if above else "1",
            )
            made.append(task)
        except AppError:
            continue
        if after != "nothing":
            await _work_once(desk, AGENTS[assignee], after)
    await _check(desk)
    await _finish_all(desk)
    async with desk.transaction() as session:
        assert await session.scalar(select(Task.id).where(Task.status.in_(OPEN)).limit(1)) is None
    assert await desk.reserved() == 0
    await _check_totals(desk)
    await desk.sql("truncate task, task_dependency, task_attempt, tool_call, dead_letter, budget_account cascade")


async def _work_once(desk: Desk, slug: str, after: str) -> None:
    task = await desk.claim(slug)
    if task is not None and after == "fail":
        await desk.fail(task, may_pass=False, cost="0.01")
    elif task is not None and after == "complete":
        await desk.complete(task, cost="0.02")


async def _finish_all(desk: Desk) -> None:
    """Whoever works leaves-first gets through: if this stops before all is done, tasks wait for each other."""
    for _ in range(100):
        async with desk.transaction() as session:
            ready = await session.scalars(
                select(Task).where(Task.status.in_(OPEN), Task.waiting_for == 0).order_by(Task.depth.desc(), Task.id)
            )
            running = list(ready)
        if not running:
            return
        for task in running:
            current = await desk.read(task)
            if current.status not in OPEN:
                continue
            if current.claim_token is None:
                slug = next(slug for slug, agent in desk.agents.items() if agent.id == current.assignee_id)
                claimed = await desk.claim(slug)
                assert claimed is not None
                current = claimed
            await desk.complete(current, cost="0.03")


async def _check(desk: Desk) -> None:
    async with desk.transaction() as session:
        tasks = {task.id: task for task in await session.scalars(select(Task))}
        assert not await session.scalar(text(CIRCLES))
    for task in tasks.values():
        chain, above = [task.assignee_id, task.creator_id], task.parent_id
        while above is not None:
            chain.append(tasks[above].creator_id)
            above = tasks[above].parent_id
        assert len(set(chain)) == len(chain) <= MAX_DEPTH + 1


async def _check_totals(desk: Desk) -> None:
    """An account's spent is its task's own cost and the totals of its children."""
    async with desk.transaction() as session:
        wrong = await session.scalar(
            text(
                "select count(*) from task t join budget_account b on b.id = t.budget_id where b.spent <> t.cost + "
                "(select coalesce(sum(c.spent), 0) from budget_account c where c.parent_id = b.id)"
            )
        )
        total = await session.scalar(text("select coalesce(sum(cost), 0) from task"))
        day = await session.scalar(text("select coalesce(sum(spent), 0) from budget_account where kind = 'team_day'"))
    assert (wrong, day) == (0, Decimal(total or 0))
