"""`parley queue`: lists what waits for workers, what runs and what failed last, and reports on the queue in Redis."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Column, Table
from sqlalchemy import ColumnElement, Text, select, true, type_coerce
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import InstrumentedAttribute

from app.agents.models import Agent, AgentRuntime, AgentStatus
from app.cli.connection import reachable_settings
from app.cli.work import find_team, run_in_transaction
from app.clock import now
from app.config import Settings
from app.errors import Unavailable
from app.follow_ups.models import FollowUp
from app.ids import Prefix, to_global
from app.queue import QUEUE, JobQueue
from app.redis import Redis
from app.tasks.models import DeadLetter, DeadLetterState, Task, TaskAttempt, TaskStatus
from app.tasks.queueing import EXECUTE_TASK, job_id
from app.teams.models import Team

HEALTH_CHECK_KEY = f"{QUEUE}:health-check"  # arq's own suffix; a test compares it with arq's constant
MAX_ERROR_CHARS = 200
Rows = list[dict[str, Any]]


def command(
    team: Annotated[str | None, typer.Option("--team", help="The slug of a team; all teams by default.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=1_000, help="Rows of each list.")] = 20,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, one object.")] = False,
) -> None:
    """List the jobs that wait, the tasks that run and what failed last, and report on the queue in Redis."""

    async def work(session: AsyncSession) -> dict[str, Rows]:
        team_id = (await find_team(session, team)).id if team is not None else None
        return {
            "waiting": await _waiting(session, team_id, limit),
            "running": await _running(session, team_id, limit),
            "failedFollowUps": await _failed_follow_ups(session, team_id, limit),
            "deadLetters": await _dead_letters(session, team_id, limit),
        }

    lists = run_in_transaction(work)
    queue = asyncio.run(_inspect_redis(reachable_settings()))
    if as_json:
        typer.echo(json.dumps({**lists, "queue": queue}, ensure_ascii=False, indent=2))
    else:
        _print(lists, queue, limit)


async def _waiting(session: AsyncSession, team_id: UUID | None, limit: int) -> Rows:
    """What is due comes first, follow-ups before tasks, as workers start them; then what is due later."""
    at = now()
    follow_ups = select(FollowUp.id, _kind(), Team.slug, FollowUp.due_at, FollowUp.failures).join(
        Team, Team.id == FollowUp.team_id
    )
    tasks = (
        select(Task.id, Team.slug, Task.ready_at, Task.attempts_made)
        .join(Team, Team.id == Task.team_id)
        .join(Agent, Agent.id == Task.assignee_id)
        .where(Task.status == TaskStatus.PENDING, Task.waiting_for == 0)
        .where(Agent.runtime == AgentRuntime.MANAGED, Agent.status == AgentStatus.ACTIVE)
    )
    rows: Rows = []
    for is_due in (True, False):
        chosen = follow_ups.where(_is_due(FollowUp.due_at, at, is_due), _of_team(FollowUp.team_id, team_id))
        jobs = [
            _job(f"{kind}:{id}:{failures}", kind, slug, due_at, failures, at)
            for id, kind, slug, due_at, failures in await session.execute(
                chosen.order_by(FollowUp.due_at, FollowUp.id).limit(limit)
            )
        ]
        runnable = tasks.where(_is_due(Task.ready_at, at, is_due), _of_team(Task.team_id, team_id))
        order = Task.due_at if is_due else Task.ready_at
        jobs += [
            _job(job_id(id, attempts + 1), EXECUTE_TASK, slug, ready_at, attempts, at)
            for id, slug, ready_at, attempts in await session.execute(runnable.order_by(order, Task.id).limit(limit))
        ]
        rows += jobs if is_due else sorted(jobs, key=lambda job: str(job["dueAt"]))
    return rows[:limit]


def _job(id: str, kind: str, team: str, due_at: datetime, tries: int, at: datetime) -> dict[str, Any]:
    waited_s = _seconds(due_at, at)
    return {"jobId": id, "kind": kind, "team": team, "dueAt": due_at.isoformat(), "waitedS": waited_s, "tries": tries}


async def _running(session: AsyncSession, team_id: UUID | None, limit: int) -> Rows:
    """Attempts of managed agents in progress, the longest first."""
    at = now()
    attempts = (
        select(TaskAttempt.task_id, Agent.slug, Team.slug, TaskAttempt.job_id, TaskAttempt.started_at, Task.lease_until)
        .join(Task, (Task.id == TaskAttempt.task_id) & (Task.attempts_made == TaskAttempt.number))
        .join(Agent, Agent.id == TaskAttempt.agent_id)
        .join(Team, Team.id == TaskAttempt.team_id)
        .where(Task.status == TaskStatus.IN_PROGRESS, Agent.runtime == AgentRuntime.MANAGED)
        .where(_of_team(TaskAttempt.team_id, team_id))
    )
    return [
        {
            "taskId": to_global(Prefix.TASK, task_id),
            "agent": agent,
            "team": team,
            "jobId": job,
            "runsForS": _seconds(started_at, at),
            "leaseS": None if lease_until is None else _seconds(at, lease_until),
        }
        for task_id, agent, team, job, started_at, lease_until in await session.execute(
            attempts.order_by(TaskAttempt.started_at, TaskAttempt.id).limit(limit)
        )
    ]


async def _failed_follow_ups(session: AsyncSession, team_id: UUID | None, limit: int) -> Rows:
    """The newest failures first: each puts its job off by at most a minute."""
    failed = (
        select(FollowUp.id, _kind(), Team.slug, FollowUp.due_at, FollowUp.failures, FollowUp.error)
        .join(Team, Team.id == FollowUp.team_id)
        .where(FollowUp.failures > 0, _of_team(FollowUp.team_id, team_id))
    )
    return [
        {
            "jobId": f"{kind}:{id}:{failures}",
            "team": team,
            "failures": failures,
            "retryAt": due_at.isoformat(),
            "error": error,
        }
        for id, kind, team, due_at, failures, error in await session.execute(
            failed.order_by(FollowUp.due_at.desc(), FollowUp.id).limit(limit)
        )
    ]


async def _dead_letters(session: AsyncSession, team_id: UUID | None, limit: int) -> Rows:
    at = now()
    letters = (
        select(DeadLetter.id, DeadLetter.task_id, Team.slug, DeadLetter.created_at, DeadLetter.reason)
        .join(Team, Team.id == DeadLetter.team_id)
        .where(DeadLetter.state == DeadLetterState.OPEN, _of_team(DeadLetter.team_id, team_id))
    )
    return [
        {
            "id": to_global(Prefix.DEAD_LETTER, id),
            "taskId": to_global(Prefix.TASK, task_id),
            "team": team,
            "ageS": _seconds(created_at, at),
            "reason": reason,
        }
        for id, task_id, team, created_at, reason in await session.execute(
            letters.order_by(DeadLetter.created_at.desc(), DeadLetter.id.desc()).limit(limit)
        )
    ]


def _kind() -> ColumnElement[str]:
    """Read as text: a newer version may know kinds that this one does not."""
    return type_coerce(FollowUp.kind, Text)


def _is_due(column: InstrumentedAttribute[datetime], at: datetime, is_due: bool) -> ColumnElement[bool]:
    return column <= at if is_due else column > at


def _of_team(column: InstrumentedAttribute[UUID], team_id: UUID | None) -> ColumnElement[bool]:
    return true() if team_id is None else column == team_id


def _seconds(start: datetime, end: datetime) -> float:
    return round((end - start).total_seconds(), 1)


async def _inspect_redis(settings: Settings) -> dict[str, Any]:
    """`healthCheck` is the line of the worker that reported last; null when none did in the last seconds."""
    if settings.redis_url is None:
        return {"redis": "unknown", "length": None, "healthCheck": None}
    redis = Redis(settings)
    try:
        length = await JobQueue(redis).length()
        line = await redis.run(lambda client: client.get(HEALTH_CHECK_KEY))
    except Unavailable:
        return {"redis": "away", "length": None, "healthCheck": None}
    finally:
        await redis.close()
    return {"redis": "ok", "length": length, "healthCheck": None if line is None else line.decode()}


def _print(lists: dict[str, Rows], queue: dict[str, Any], limit: int) -> None:
    console = Console(highlight=False)
    console.print(escape(_queue_line(queue)), soft_wrap=True)
    if not any(lists.values()):
        console.print("Nothing waits, nothing runs and nothing has failed.", soft_wrap=True)
    _print_table(
        console, "Waiting", ("Job", "Kind", "Team", "Due", "Tries"), limit,
        [(row["jobId"], row["kind"], row["team"], _due(row["waitedS"]), row["tries"]) for row in lists["waiting"]],
    )  # fmt: skip
    _print_table(
        console, "Running", ("Task", "Agent", "Team", "Job", "For", "Lease"), limit,
        [
            (row["taskId"], row["agent"], row["team"], row["jobId"] or "none (started without Redis)",
             _duration(row["runsForS"]), _lease(row["leaseS"]))
            for row in lists["running"]
        ],
    )  # fmt: skip
    _print_table(
        console, "Follow-up jobs that failed", ("Job", "Team", "Failures", "Error"), limit,
        [(row["jobId"], row["team"], row["failures"], row["error"] or "") for row in lists["failedFollowUps"]],
    )  # fmt: skip
    _print_table(
        console, "Open dead letters", ("Id", "Task", "Team", "Age", "Reason"), limit,
        [(row["id"], row["taskId"], row["team"], _duration(row["ageS"]), row["reason"])
         for row in lists["deadLetters"]],
    )  # fmt: skip


def _print_table(
    console: Console, title: str, columns: Sequence[str], limit: int, rows: Sequence[Sequence[Any]]
) -> None:
    if not rows:
        return
    shown = f"the first {limit}; --limit shows more" if len(rows) == limit else str(len(rows))
    console.print(f"\n[bold]{title}[/bold] ({shown})")
    table = Table(*(Column(name, overflow="fold") for name in columns), box=None, pad_edge=False)
    for row in rows:
        table.add_row(*(escape(_one_line(str(value))) for value in row))
    console.print(table)


def _one_line(text: str) -> str:
    """Agents write some of the errors: control characters must not reach the terminal."""
    return "".join(character if character.isprintable() else " " for character in text[:MAX_ERROR_CHARS])


def _queue_line(queue: dict[str, Any]) -> str:
    if queue["redis"] == "unknown":
        return "Queue: REDIS_URL is not set, so it cannot be inspected."
    if queue["redis"] == "away":
        return "Queue: Redis does not answer. Workers run what is due without it, at a slower pace."
    jobs = f"Queue: {queue['length']} {'job' if queue['length'] == 1 else 'jobs'} in Redis."
    if queue["healthCheck"] is None:
        return f"{jobs} No worker has reported in the last seconds; start one with `parley worker`."
    return f"{jobs} The worker that reported last: {queue['healthCheck']}"


def _due(waited_s: float) -> str:
    return f"{_duration(waited_s)} ago" if waited_s >= 0 else f"in {_duration(-waited_s)}"


def _lease(left_s: float | None) -> str:
    if left_s is None:
        return ""
    return f"{_duration(left_s)} left" if left_s >= 0 else f"expired {_duration(-left_s)} ago"


def _duration(seconds: float) -> str:
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} s"
