"""Managed agents from delegation to result: on the offline model, and on a provider that the test plays."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from decimal import Decimal
from typing import Any

import pytest
from sqlalchemy import select

from app.config import Settings
from app.db.engine import Database
from app.inference.providers import Providers
from app.managed.attention_tools import ATTENTION_TOOLS
from app.managed.collaboration_tools import COLLABORATION_TOOLS
from app.managed.consultation_tools import CONSULTATION_TOOLS
from app.managed.execution import Execution
from app.managed.memory_tools import MEMORY_TOOLS
from app.managed.message_tools import MESSAGE_TOOLS
from app.managed.report_tools import REPORT_TOOLS
from app.managed.task_tools import TASK_TOOLS
from app.tasks.models import Task, TaskStatus, ToolCall
from app.tasks.tools import MANAGED_TOOLS
from tests.fixtures.desk import Desk
from tests.fixtures.openai_server import OpenAIServer, calls, fails, hangs, openai_server, says
from tests.jobs.conftest import Workers
from tests.jobs.test_tasks import until_status

MOST_S_TO_STOP = 2.0  # promised of every model call below a cancelled task
Working = Callable[..., AbstractAsyncContextManager[OpenAIServer]]


@pytest.fixture
def offline(settings: Settings, database: Database, workers: Workers) -> Callable[..., Any]:
    return lambda **options: workers(Execution(settings, database, Providers(settings)), **options)


@pytest.fixture
def on_provider(settings: Settings, database: Database, workers: Workers) -> Working:
    @asynccontextmanager
    async def open_both() -> AsyncIterator[OpenAIServer]:
        chosen = settings.model_copy(update={"model_tier_1": "openai:gpt-4o-mini"})
        async with openai_server() as server:
            providers = Providers(chosen, {"OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": "a-test"})
            async with workers(Execution(chosen, database, providers)):
                yield server
            await providers.close()

    return open_both


async def tool_calls(desk: Desk, task: Task) -> list[ToolCall]:
    async with desk.transaction() as session:
        mine = select(ToolCall).where(ToolCall.task_id == task.id).order_by(ToolCall.id)
        return list(await session.scalars(mine))


async def below(desk: Desk, task: Task) -> list[Task]:
    async with desk.transaction() as session:
        return list(await session.scalars(select(Task).where(Task.parent_id == task.id).order_by(Task.id)))


async def test_a_chain_of_delegations_comes_back_with_its_results(desk: Desk, offline: Callable[..., Any]) -> None:
    """One place for all of them: whoever waits lends it."""
    for slug in ("kyra", "luke", "ada", "zara"):
        await desk.agent(slug)
    async with offline(slots=1):
        top = await desk.delegate(
            "kyra",
            "luke",
            instructions="Find out what Valkey is.\ndelegate to ada: Ask around.\ndelegate to kyra: Loop.",
        )
        done = await until_status(desk, top, TaskStatus.COMPLETED)

    asked, refused, followed = await tool_calls(desk, top)
    (child,) = await below(desk, top)
    assert (asked.name, asked.created_task_id, asked.error) == ("delegate_task", child.id, None)
    assert (refused.name, refused.created_task_id) == ("delegate_task", None)
    assert refused.error is not None
    assert refused.error.startswith("CYCLE_DETECTED: ")
    assert "kyra" in refused.error
    assert followed.name == "check_task_status"
    assert followed.result is not None
    assert followed.result.startswith("COMPLETED: ")
    assert (child.status, child.instructions) == (TaskStatus.COMPLETED, "Ask around.")
    assert "Find out what Valkey is" in (done.result or "")
    assert await desk.reserved() == 0


async def test_tools_are_offered_where_they_may_be_used(desk: Desk, offline: Callable[..., Any]) -> None:
    """Neither beyond the authority of the task nor where a further task would be too deep."""
    for slug in ("kyra", "luke", "ada", "zara", "max"):
        await desk.agent(slug)
    for slug in ("own-1", "own-2"):
        await desk.agent(slug, runtime="external")
    third = "delegate to max: Too deep."
    async with offline():
        narrow = await desk.delegate("kyra", "luke", instructions="delegate to ada: No.", tools=("check_task_status",))
        await until_status(desk, narrow, TaskStatus.COMPLETED)
        first = await desk.working("kyra", "own-1")
        second = await desk.working(None, "own-2", parent=first)
        deepest = await desk.delegate(None, "zara", parent=second, instructions=third)
        deepest = await until_status(desk, deepest, TaskStatus.COMPLETED)

    assert await tool_calls(desk, narrow) == await tool_calls(desk, deepest) == []
    assert (deepest.depth, deepest.instructions, deepest.status) == (3, third, TaskStatus.COMPLETED)
    assert "delegate_task is not offered here" in (deepest.result or "")


def test_the_tools_that_may_be_named_are_those_that_are_lent() -> None:
    work, words = (*TASK_TOOLS, *REPORT_TOOLS, *COLLABORATION_TOOLS), (*MESSAGE_TOOLS, *CONSULTATION_TOOLS)
    lent = (*work, *words, *MEMORY_TOOLS, *ATTENTION_TOOLS)

    assert {tool.name for tool in lent} == MANAGED_TOOLS


async def test_costs_and_tool_calls_of_a_provider_are_kept_while_it_runs(desk: Desk, on_provider: Working) -> None:
    for slug in ("kyra", "luke", "ada"):
        await desk.agent(slug)
    async with on_provider() as server:
        wanted = json.dumps({"agent": "nobody", "title": "x", "instructions": "y"})
        server.script(calls(("delegate_task", wanted), usage=(1_000, 100)), hangs("Half an ", "answer"))
        task = await desk.delegate("kyra", "luke", max_tokens=10_000)
        async with asyncio.timeout(20):
            while not (running := await desk.read(task)).progress:  # noqa: ASYNC110
                await asyncio.sleep(0.02)
        budget = await desk.budget(task)
        await desk.cancel(task)
        async with asyncio.timeout(20):
            await server.gone.wait()

    assert (running.tokens_used, running.cost) == (1_100, Decimal("0.00021"))
    assert budget.spent == Decimal("0.00021")
    assert running.progress.startswith("Half an ")
    (call,) = await tool_calls(desk, task)
    assert call.error is not None
    assert "There are: ada, kyra" in call.error
    assert "nobody" in server.told[0][1]
    assert await desk.status(task) == ["cancelled"]
    assert await desk.reserved() == 0


async def test_cancelling_a_tree_ends_every_request_to_a_model(desk: Desk, on_provider: Working) -> None:
    gone = asyncio.Semaphore(0)

    async def delegating(receive: Any, send: Any, server: OpenAIServer) -> None:
        text = str(server.asked[-1]["messages"][-1])
        for slug, next_one in (("luke", "ada"), ("ada", "zara")):
            if f"for {slug}" in text:
                wanted = json.dumps({"agent": next_one, "title": f"for {next_one}", "instructions": f"for {next_one}"})
                await calls(("delegate_task", wanted))(receive, send, server)
                return
        await hangs("…")(receive, send, server)
        gone.release()

    for slug in ("kyra", "luke", "ada", "zara"):
        await desk.agent(slug)
    async with on_provider() as server:
        server.script(delegating)
        top = await desk.delegate("kyra", "luke", title="for luke", instructions="for luke", max_tokens=100_000)
        async with asyncio.timeout(20):
            while len(server.asked) < 5:  # noqa: ASYNC110 - two answered with a delegation, three hang
                await asyncio.sleep(0.02)
        await desk.cancel(top)
        async with asyncio.timeout(MOST_S_TO_STOP):
            for _ in range(3):
                await gone.acquire()

    assert await desk.open_count() == 0
    assert await desk.reserved() == 0


async def test_a_provider_that_limits_its_callers_is_waited_for(desk: Desk, on_provider: Working) -> None:
    async with on_provider() as server:
        server.script(fails(429, {"retry-after": "30"}))
        task = await desk.delegate("kyra", "luke")
        async with asyncio.timeout(20):
            while "task.requeued" not in await desk.kinds(task):  # noqa: ASYNC110
                await asyncio.sleep(0.02)
        waiting = await desk.read(task)
        server.script(says("At last."))
        await desk.make_ready()
        done = await until_status(desk, task, TaskStatus.COMPLETED)

    assert (waiting.ready_at - waiting.updated_at).total_seconds() >= 29
    assert (waiting.attempts_made, waiting.attempts_allowed) == (1, 4)
    assert done.result == "At last."


async def test_a_final_refusal_is_a_dead_letter_that_says_what_to_do(desk: Desk, on_provider: Working) -> None:
    async with on_provider() as server:
        server.script(fails(401))
        task = await desk.delegate("kyra", "luke")
        done = await until_status(desk, task, TaskStatus.FAILED)

    assert done.error_code == "MODEL_KEY_REFUSED"
    (letter,) = await desk.letters()
    assert "OPENAI_API_KEY" in letter.reason
    assert "a-test" not in letter.reason
