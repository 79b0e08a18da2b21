"""Managed agents ask a person: what waits holds no worker, survives all of them, and is told the answer once it is
there."""

from __future__ import annotations

import asyncio
import json
import os
from typing import Any

import pytest
from sqlalchemy import func, select

from app.attention.models import AttentionItem, AttentionState
from app.config import Settings
from app.db.engine import Database
from app.events.log import Actor
from app.inference.providers import Providers
from app.interventions import answering
from app.interventions.answering import Answer
from app.managed.execution import Execution
from app.tasks.models import Task, TaskStatus, ToolCall
from app.tasks.queueing import due_jobs
from app.tasks.sweeper import sweep
from tests.fixtures.desk import Desk
from tests.jobs.conftest import Workers
from tests.jobs.test_tasks import PATIENCE_S, until_status

WAITING = 500 if os.environ.get("PARLEY_SOAK") else 12
MINA = Actor("Mina")


@pytest.fixture
def offline(settings: Settings, database: Database, workers: Workers) -> Any:
    return lambda slots=1: workers(Execution(settings, database, Providers(settings)), slots=slots)


def ask(**arguments: Any) -> str:
    return f"@tool ask_person {json.dumps({'question': 'Which market?', **arguments})}"


async def calls(desk: Desk, task: Task) -> list[str | None]:
    async with desk.transaction() as session:
        mine = select(ToolCall).where(ToolCall.task_id == task.id).order_by(ToolCall.id)
        return [call.result or call.error for call in await session.scalars(mine)]


async def open_items(desk: Desk) -> list[AttentionItem]:
    async with desk.transaction() as session:
        return list(await session.scalars(select(AttentionItem).where(AttentionItem.state == AttentionState.OPEN)))


async def until_waiting(desk: Desk, count: int) -> None:
    waiting = select(func.count()).where(Task.waiting_for == 1, Task.status == TaskStatus.PENDING)
    async with asyncio.timeout(PATIENCE_S + count):
        while True:
            async with desk.transaction() as session:
                if await session.scalar(waiting) == count:
                    return
            await asyncio.sleep(0.02)


async def answer(desk: Desk, item: AttentionItem, **given: Any) -> None:
    async with desk.transaction() as session:
        which = {"team_id": desk.team_id, "item_id": item.id}
        await answering.answer(session, **which, given=Answer(**given), settings=desk.settings, actor=MINA)


@pytest.mark.timeout(60 + 2 * WAITING)
async def test_many_wait_without_a_worker_and_go_on_after_a_restart_of_everything(desk: Desk, offline: Any) -> None:
    first = await desk.delegate("kyra", "luke", instructions=f"Plan the launch.\n{ask()}", max_tokens=100_000)
    await desk.copy_task(first, WAITING - 1)
    async with offline(slots=3) as worker:
        await until_waiting(desk, WAITING)
        plain = await desk.delegate("kyra", "ada")
        await until_status(desk, plain, TaskStatus.COMPLETED)
        busy = [run.task.id for run, _ in worker.runner._running.values() if run.task.id != plain.id]
    asked = await open_items(desk)
    for item in asked:
        await answer(desk, item, text="The French one.")
    async with offline(slots=5):
        async with asyncio.timeout(PATIENCE_S + WAITING):
            while await desk.count(TaskStatus.COMPLETED) < WAITING + 1:  # noqa: ASYNC110
                await asyncio.sleep(0.02)

    done = await desk.read(first)
    assert busy == []
    assert len({item.task_id for item in asked}) == WAITING
    assert await calls(desk, first) == [
        "A person is asked. The task goes on when there is an answer.",
        "Mina answered: The French one.",
    ]
    assert "The French one." in (done.result or "")
    assert (done.attempts_made, done.error_code) == (2, None)


async def test_five_hundred_that_wait_leave_the_workers_idle(desk: Desk, offline: Any, database: Database) -> None:
    first = await desk.delegate("kyra", "luke", instructions=ask())
    async with offline():
        await until_waiting(desk, 1)
    await desk.copy_task(first, 499)
    async with offline(slots=1) as worker:
        plain = await desk.delegate("kyra", "ada")
        await until_status(desk, plain, TaskStatus.COMPLETED)
        assert [run.task.id for run, _ in worker.runner._running.values() if run.task.id != plain.id] == []
    assert await database.fetchval("select count(*) from task where waiting_for = 1 and status = 'pending'") == 500
    assert await due_jobs(database, limit=500) == []


async def test_a_worker_that_dies_after_the_answer_costs_neither_the_answer_nor_a_second_question(
    desk: Desk, offline: Any
) -> None:
    task = await desk.delegate("kyra", "luke", instructions=ask(options=["France", "Spain"]))
    async with offline():
        await until_waiting(desk, 1)
    (item,) = await open_items(desk)
    await answer(desk, item, option="Spain")
    dying = await desk.claim("luke")
    assert dying is not None
    await desk.sql("update task set lease_until = now() where status = 'in_progress'")
    await sweep(desk.transaction)
    async with offline():
        done = await until_status(desk, task, TaskStatus.COMPLETED)

    async with desk.transaction() as session:
        questions = await session.scalar(select(func.count()).select_from(AttentionItem))
    assert (dying.id, questions, done.attempts_made) == (task.id, 1, 3)
    assert (await calls(desk, task))[-1] == "Mina answered: Spain"


async def test_a_deadline_lets_the_task_go_on_with_what_counts_then(desk: Desk, offline: Any) -> None:
    instructions = "\n".join(
        (
            ask(question="Late?", deadline_seconds=1, default_answer="no"),
            ask(question="", deadline_seconds=1),
            ask(question="Mine?", kind="dead_letter"),
        )
    )
    task = await desk.delegate("kyra", "luke", instructions=instructions)
    async with offline():
        await until_status(desk, task, TaskStatus.COMPLETED)

    asked, told, empty, foreign = await calls(desk, task)
    assert (asked or "").startswith("A person is asked.")
    assert told == "Nobody answered in time. What counts then: no"
    assert (empty or "").startswith("INVALID_INPUT")
    assert "opened by Parley itself" in (foreign or "")
