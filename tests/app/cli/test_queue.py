"""`parley queue` lists what waits, what runs and what failed last, and reports on the queue in Redis."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any
from uuid import UUID

import asyncpg
import pytest
import redis
from arq.constants import health_check_key_suffix

from app.config import Flags, load_settings
from app.db.engine import Database
from app.db.transaction import AfterCommit, Transactions
from app.events.log import SYSTEM
from app.ids import Prefix, to_global
from app.queue import QUEUE
from app.tasks.claiming import JobClaim, claim_for_jobs
from app.tasks.models import Task
from app.teams import service as teams
from tests.app.cli.conftest import Answer
from tests.fixtures.desk import Desk

HEALTH = "Nov-18 12:00:00 j_complete=7 j_failed=0 j_retried=0 j_ongoing=1 queued=2"
NOBODY = "postgresql://nobody@127.0.0.1:1/none"


@pytest.fixture
def queue(parley: Callable[..., Answer], database_url: str, redis_url: str) -> Callable[..., Answer]:
    return lambda *arguments: parley("queue", *arguments, DATABASE_URL=database_url, REDIS_URL=redis_url)


@pytest.fixture
def arrange(database_url: str) -> Callable[[Callable[[Desk], Awaitable[Any]]], Any]:
    """Runs a piece of work on the team `writers`; nothing reaches Redis, as if every worker had just lost it."""

    async def leave(pending: AfterCommit) -> None:
        pass

    async def run(work: Callable[[Desk], Awaitable[Any]]) -> Any:
        settings = load_settings(DATABASE_URL=database_url, flags=Flags(task_delegation=True))
        database = Database(settings)
        transaction = Transactions(database, leave)
        async with transaction() as session:
            team = await teams.create(session, slug="writers", name="Writers", actor=SYSTEM)
        result = await work(Desk(transaction, settings, team.id))
        await database.close()
        return result

    return lambda work: asyncio.run(run(work))


def execute(database_url: str, *statements: str) -> None:
    async def run() -> None:
        connection = await asyncpg.connect(database_url)
        for statement in statements:
            await connection.execute(statement)
        await connection.close()

    asyncio.run(run())


def follow_up(id: int, kind: str, due: str, failures: int = 0, error: str = "null", team: str = "writers") -> str:
    return (
        "insert into follow_up (id, team_id, kind, subject_id, due_at, failures, error) "
        f"select '{UUID(int=id)}', id, '{kind}', id, now() + '{due}', {failures}, {error} "
        f"from team where slug = '{team}'"
    )


async def claim(desk: Desk, task: Task, job_id: str | None) -> None:
    async with desk.transaction.of_one_statement() as statement:
        await claim_for_jobs(statement, [JobClaim(task.id, 1, job_id)], lease_s=60, actor=SYSTEM)


def test_empty_queue_names_the_next_step(queue: Callable[..., Answer]) -> None:
    answer = queue()

    assert (answer.code, answer.err) == (0, "")
    assert answer.out.splitlines() == [
        "Queue: 0 jobs in Redis. No worker has reported in the last seconds; start one with `parley worker`.",
        "Nothing waits, nothing runs and nothing has failed.",
    ]


def test_help_names_the_options(parley: Callable[..., Answer]) -> None:
    answer = parley("queue", "--help")

    assert answer.code == 0
    for option in ("--team", "--limit", "--json"):
        assert option in answer.out


def test_waiting_jobs_stand_in_the_order_in_which_they_start(
    queue: Callable[..., Answer], arrange: Callable[..., Any], database_url: str
) -> None:
    async def delegate(desk: Desk) -> list[Task]:
        await desk.agent("ghost", runtime="external")
        return [
            await desk.delegate("ada", "luke", priority="low"),
            await desk.delegate("ada", "luke", priority="urgent"),
            await desk.delegate("ada", "ghost"),
        ]

    low, urgent, _ = arrange(delegate)
    execute(
        database_url,
        follow_up(1, "session_deadline", "1 hour"),
        follow_up(2, "kind_of_a_newer_version", "-90 seconds"),
    )

    listed = queue()
    rows = json.loads(queue("--json").out)["waiting"]

    assert [(row["jobId"], row["kind"], row["team"], row["tries"]) for row in rows] == [
        (f"kind_of_a_newer_version:{UUID(int=2)}:0", "kind_of_a_newer_version", "writers", 0),
        (f"task:{urgent.id}:1", "execute_task", "writers", 0),
        (f"task:{low.id}:1", "execute_task", "writers", 0),
        (f"session_deadline:{UUID(int=1)}:0", "session_deadline", "writers", 0),
    ]
    assert 90 <= rows[0]["waitedS"] < 120
    assert -3_600 <= rows[3]["waitedS"] < -3_500
    assert f"task:{urgent.id}:1" in listed.out
    assert "2 min ago" in listed.out
    assert "in 1 h" in listed.out


def test_running_attempt_shows_its_job_and_lease(queue: Callable[..., Answer], arrange: Callable[..., Any]) -> None:
    async def start(desk: Desk) -> list[Task]:
        with_job, without = await desk.delegate("ada", "luke"), await desk.delegate("ada", "nora")
        await claim(desk, with_job, f"task:{with_job.id}:1")
        await claim(desk, without, None)
        return [with_job, without]

    with_job, without = arrange(start)

    listed, answer = queue(), json.loads(queue("--json").out)

    rows = answer["running"]
    assert answer["waiting"] == []
    assert [(row["taskId"], row["agent"], row["team"], row["jobId"]) for row in rows] == [
        (to_global(Prefix.TASK, with_job.id), "luke", "writers", f"task:{with_job.id}:1"),
        (to_global(Prefix.TASK, without.id), "nora", "writers", None),
    ]
    assert all(0 <= row["runsForS"] < 30 and 30 < row["leaseS"] <= 60 for row in rows)
    assert "none (started without Redis)" in listed.out


def test_attempt_of_an_external_agent_is_not_listed(queue: Callable[..., Answer], arrange: Callable[..., Any]) -> None:
    async def start(desk: Desk) -> None:
        await desk.agent("ghost", runtime="external")
        await desk.working("ada", "ghost")

    arrange(start)

    assert json.loads(queue("--json").out)["running"] == []


def test_failures_show_their_errors(
    queue: Callable[..., Answer], arrange: Callable[..., Any], database_url: str
) -> None:
    async def fail(desk: Desk) -> Task:
        return await desk.fail(await desk.working("ada", "luke"), may_pass=False)

    task = arrange(fail)
    execute(
        database_url,
        follow_up(1, "start_reply", "5 seconds", 3, "'KeyError(1)'"),
        follow_up(2, "handoff_due", "40 seconds", 6, r"E'a\u001b[31m [b]tag[/b]'"),
        follow_up(3, "handoff_due", "0"),
    )

    listed, answer = queue(), json.loads(queue("--json").out)

    assert [(row["jobId"], row["failures"], row["error"]) for row in answer["failedFollowUps"]] == [
        (f"handoff_due:{UUID(int=2)}:6", 6, "a\x1b[31m [b]tag[/b]"),
        (f"start_reply:{UUID(int=1)}:3", 3, "KeyError(1)"),
    ]
    (letter,) = answer["deadLetters"]
    assert (letter["taskId"], letter["team"]) == (to_global(Prefix.TASK, task.id), "writers")
    assert letter["id"].startswith("letter_")
    assert letter["reason"]
    assert "[b]tag[/b]" in listed.out
    assert "\x1b" not in listed.out
    assert letter["id"] in listed.out


def test_team_and_limit_choose_rows(
    queue: Callable[..., Answer], arrange: Callable[..., Any], database_url: str
) -> None:
    async def create_other(desk: Desk) -> None:
        async with desk.transaction() as session:
            await teams.create(session, slug="readers", name="Readers", actor=SYSTEM)

    arrange(create_other)
    execute(
        database_url,
        *(follow_up(number, "start_reply", f"-{number} minutes") for number in (1, 2, 3)),
        follow_up(4, "start_reply", "0", team="readers"),
    )

    limited, readers = queue("--team", "writers", "--limit", "2"), json.loads(queue("--team", "readers", "--json").out)
    unknown = queue("--team", "none")

    assert "Waiting (the first 2; --limit shows more)" in limited.out
    assert [f"start_reply:{UUID(int=number)}:0" in limited.out for number in (3, 2, 1)] == [True, True, False]
    assert [row["jobId"] for row in readers["waiting"]] == [f"start_reply:{UUID(int=4)}:0"]
    assert (unknown.code, unknown.err.strip()) == (1, "No team 'none'; there are: readers, writers")


def test_line_on_the_queue_has_its_length_and_health_check(queue: Callable[..., Answer], redis_url: str) -> None:
    with redis.Redis.from_url(redis_url) as client:
        client.zadd(QUEUE, {"task:1:1": 1, "task:2:1": 2})
        client.set(QUEUE + health_check_key_suffix, HEALTH)

    answer = queue()

    assert answer.out.splitlines()[0] == f"Queue: 2 jobs in Redis. The worker that reported last: {HEALTH}"
    assert json.loads(queue("--json").out)["queue"] == {"redis": "ok", "length": 2, "healthCheck": HEALTH}


def test_redis_away_is_reported_and_no_failure(parley: Callable[..., Answer], database_url: str) -> None:
    answer = parley("queue", DATABASE_URL=database_url, REDIS_URL="redis://127.0.0.1:1/0")
    as_json = parley("queue", "--json", DATABASE_URL=database_url, REDIS_URL="redis://127.0.0.1:1/0")

    assert (answer.code, answer.err) == (0, "")
    assert answer.out.startswith(
        "Queue: Redis does not answer. Workers run what is due without it, at a slower pace.\n"
    )
    assert json.loads(as_json.out)["queue"] == {"redis": "away", "length": None, "healthCheck": None}


def test_without_redis_address_the_lists_are_shown(parley_on_database: Callable[..., Answer]) -> None:
    answer = parley_on_database("queue")

    assert answer.code == 0
    assert answer.out.startswith("Queue: REDIS_URL is not set, so it cannot be inspected.\n")


def test_database_away_is_one_line(parley: Callable[..., Answer], redis_url: str) -> None:
    answer = parley("queue", DATABASE_URL=NOBODY, REDIS_URL=redis_url)

    assert answer.code == 1
    assert "The database does not answer." in answer.err
