"""arq itself: the internals that `WokenWorker` relies on, and the worker that arq's own command line runs."""

from __future__ import annotations

import asyncio
import inspect
import os
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
from arq import Worker
from sqlalchemy import text

from app.attention import service as attention
from app.attention.models import AttentionKind
from app.clock import now
from app.tasks.models import Task, TaskStatus
from jobs.worker import WorkerSettings
from tests.fixtures.desk import ACTOR, Desk

ROOT = Path(__file__).parents[2]
ARQ = (str(Path(sys.executable).with_name("arq")), "jobs.worker.WorkerSettings")
PATIENCE_S = 40.0  # everything is imported first


def test_the_version_whose_internals_are_used() -> None:
    """With another version, read its worker.py first: `WokenWorker` replaces `main` and extends `start_jobs`."""
    assert version("arq") == "0.28.0"


def test_main_does_nothing_but_poll_after_its_start() -> None:
    assert parameters(Worker.main) == ["self"]
    assert parameters(Worker._poll_iteration) == ["self"]
    source = inspect.getsource(Worker.main)
    assert source.count("await self._poll_iteration()") == 1
    assert "self.ctx['redis'] = self.pool" in source


def test_a_poll_starts_jobs_and_beats() -> None:
    assert parameters(Worker.start_jobs) == ["self", "job_ids"]
    source = inspect.getsource(Worker._poll_iteration)
    for part in ("await self.start_jobs(job_ids)", "self.queue_read_limit", "await self.heart_beat()"):
        assert part in source
    started = inspect.getsource(Worker.start_jobs)
    for part in ("self.tasks[job_id] = t", "self.in_progress_timeout_s * 1000", "ResponseError"):
        assert part in started


async def test_the_attributes_that_the_woken_worker_sets_and_reads() -> None:
    async def nothing(ctx: dict[str, Any]) -> None:
        return

    worker = Worker([nothing], handle_signals=False, queue_read_limit=7, poll_delay=0.5)
    assert worker.in_progress_timeout_s == 310.0
    assert (worker.queue_read_limit, worker.poll_delay_s) == (7, 0.5)
    assert (worker.tasks, list(worker.functions)) == (
        {},
        ["test_the_attributes_that_the_woken_worker_sets_and_reads.<locals>.nothing"],
    )


def test_arq_understands_all_settings() -> None:
    """arq ignores settings that it does not know."""
    names = {name for name in vars(WorkerSettings) if not name.startswith("_")}
    assert names <= set(parameters(Worker.__init__))


def parameters(function: Callable[..., Any]) -> list[str]:
    return list(inspect.signature(function).parameters)


@pytest.fixture
def environment(database_url: str, redis_url: str) -> dict[str, str]:
    return {
        **{name: value for name, value in os.environ.items() if not name.startswith("PARLEY_")},
        "DATABASE_URL": database_url,
        "REDIS_URL": redis_url,
        "PARLEY_OFFLINE_DIRECTIVES": "true",
        "PARLEY_SHUTDOWN_GRACE_S": "0.5",
    }


@pytest.fixture
def arq_process(environment: dict[str, str], tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    with open(tmp_path / "arq.log", "wb") as log:
        process = subprocess.Popen(ARQ, cwd=ROOT, env=environment, stdout=log, stderr=log)
        yield process
        if process.poll() is None:
            process.kill()
        process.wait()


async def test_arqs_own_command_runs_the_worker(
    desk: Desk, environment: dict[str, str], arq_process: subprocess.Popen[bytes], tmp_path: Path
) -> None:
    task = await desk.delegate("kyra", "luke")
    async with desk.transaction() as session:
        question = {"title": "Which one?", "deadline": now(), "default_answer": "The first."}
        attention.open_item(session, AttentionKind.QUESTION, team_id=desk.team_id, actor=ACTOR, **question)  # type: ignore[arg-type]
    await until(lambda: has_status(desk, task, TaskStatus.COMPLETED), tmp_path)
    await until(lambda: has_rows(desk, "select 1 from attention_item where state = 'expired'"), tmp_path)
    check = await asyncio.to_thread(subprocess.run, [*ARQ, "--check"], cwd=ROOT, env=environment, capture_output=True)
    slow = await desk.delegate("kyra", "luke", instructions="@wait 500", timeout_seconds=600)
    await until(lambda: has_status(desk, slow, TaskStatus.IN_PROGRESS), tmp_path)
    arq_process.send_signal(signal.SIGTERM)
    await asyncio.to_thread(arq_process.wait, 20)

    assert check.returncode == 0, check.stderr.decode()
    assert await desk.status(slow) == ["pending"]
    async with desk.transaction() as session:
        attempts = (await session.execute(text("select job_id, outcome from task_attempt order by started_at"))).all()
        assert await session.scalar(text("select count(*) from follow_up")) == 0
        assert await session.scalar(text("select count(*) from event where kind = 'attention.expired'")) == 1
    assert [tuple(row) for row in attempts] == [(f"task:{task.id}:1", "completed"), (f"task:{slow.id}:1", "released")]
    assert "Traceback" not in (tmp_path / "arq.log").read_text()


async def test_the_check_fails_while_no_worker_runs(environment: dict[str, str]) -> None:
    check = await asyncio.to_thread(subprocess.run, [*ARQ, "--check"], cwd=ROOT, env=environment, capture_output=True)
    assert check.returncode == 1


async def until(condition: Callable[[], Awaitable[bool]], folder: Path) -> None:
    try:
        async with asyncio.timeout(PATIENCE_S):
            while not await condition():  # noqa: ASYNC110 - another process does it
                await asyncio.sleep(0.05)
    except TimeoutError:
        pytest.fail((folder / "arq.log").read_text()[-3000:])


async def has_status(desk: Desk, task: Task, status: TaskStatus) -> bool:
    return (await desk.read(task)).status is status


async def has_rows(desk: Desk, sql: str) -> bool:
    async with desk.transaction() as session:
        return (await session.execute(text(sql))).first() is not None
