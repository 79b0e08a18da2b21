"""The promise for follow-up jobs: kill workers at random while hundreds are due; each takes effect exactly once."""

from __future__ import annotations

import asyncio
import random
from datetime import timedelta
from typing import Any

import pytest

from app.attention import service as attention
from app.attention.models import AttentionKind
from app.clock import now
from app.events.log import Actor
from tests.fixtures.installation import SOAK, Installation, ParleyProcess

FOLLOW_UPS, KILLS, WORKERS = (10_000, 60, 3) if SOAK else (300, 4, 2)
LATER_S = 2.0
PATIENCE_S = 300.0 if SOAK else 60.0
ACTOR = Actor("a test")
LEFT = "select count(*) from follow_up where team_id = $1"
DUE = f"{LEFT} and due_at <= clock_timestamp()"


async def open_items(installation: Installation, numbers: range) -> None:
    """Questions whose default answer counts at their deadline: two of three at once, the others later."""
    async with installation.transaction() as session:
        for number in numbers:
            wait_s = 0 if number % 3 else random.uniform(0, LATER_S)
            attention.open_item(
                session,
                AttentionKind.QUESTION,
                team_id=installation.team.id,
                title=f"Question {number}?",
                actor=ACTOR,
                deadline=now() + timedelta(seconds=wait_s),
                default_answer=f"Answer {number}.",
            )


async def kill_in_the_middle(installation: Installation, workers: list[ParleyProcess], count: int) -> int:
    """Kills a worker when a random part of `count` follow-ups is done; returns how many were due at that moment."""
    part = random.randrange(count // 2)
    async with asyncio.timeout(PATIENCE_S):
        while await value(installation, LEFT) > count - part:  # noqa: ASYNC110
            await asyncio.sleep(0.002)
    worker = random.choice(workers)
    await asyncio.to_thread(worker.kill)
    due: int = await value(installation, DUE)
    worker.launch()
    return due


async def value(installation: Installation, sql: str) -> Any:
    return await installation.database.fetchval(sql, installation.team.id)


async def rows(installation: Installation, sql: str) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in await installation.database.fetch(sql, installation.team.id)]


async def until_none_is_left(installation: Installation) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while await value(installation, LEFT):  # noqa: ASYNC110
            await asyncio.sleep(0.05)


@pytest.mark.timeout(120 + 2 * PATIENCE_S)
async def test_each_follow_up_takes_effect_once_although_workers_die(installation: Installation) -> None:
    workers = [installation.another("worker") for _ in range(WORKERS)]
    for worker in workers:
        worker.launch()
    due_at_kills, first = [], 0
    try:
        for kill in range(1, KILLS + 1):
            numbers = range(first, FOLLOW_UPS * kill // KILLS)
            await open_items(installation, numbers)
            left: int = await value(installation, LEFT)
            due_at_kills.append(await kill_in_the_middle(installation, workers, min(left, len(numbers))))
            first = numbers.stop
        await until_none_is_left(installation)
    finally:
        for worker in workers:
            worker.end()

    assert sum(due_at_kills) > 0, "no worker was killed in the middle"
    await check_effects(installation)


async def check_effects(installation: Installation) -> None:
    """One event, one step and the right answer for each item."""
    states = await rows(
        installation, "select state, closed_by, count(*) from attention_item where team_id = $1 group by 1, 2"
    )
    assert [(state, count) for state, _, count in states] == [("expired", FOLLOW_UPS)]
    wrong_answer = """select id from attention_item where team_id = $1
        and answer is distinct from replace(replace(title, 'Question', 'Answer'), '?', '.')"""
    assert await rows(installation, wrong_answer) == []
    steps = """select item.id from attention_item item left join attention_step step
        on step.item_id = item.id and step.action = 'expired'
        where item.team_id = $1 group by item.id having count(step.id) <> 1"""
    assert await rows(installation, steps) == []
    events = await rows(
        installation,
        """select changes ->> 'attentionId', count(*) from event
        where team_id = $1 and kind = 'attention.expired' group by 1""",
    )
    assert len(events) == FOLLOW_UPS
    assert {count for _, count in events} == {1}
