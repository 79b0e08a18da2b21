"""The promise for work: kill workers, the API, Redis with its data and Postgres, and cancel trees meanwhile; every task
ends once, in order with what it needs; every cent that the model's provider served is counted once and none besides;
and whoever follows a task sees each of its steps once."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence
from uuid import UUID

import pytest

from app.events.cursor import EventCursor, decode
from app.ids import Prefix, to_global
from tests.fixtures.faults import (
    Follower,
    cancelled,
    kill_connections,
    kill_postgres,
    kill_server,
    kill_valkey,
    over_socket,
    until_all_have,
    wreck,
)
from tests.fixtures.installation import SOAK, Installation
from tests.fixtures.works import ANSWER_USD, USAGE, Works, number_in, works

TASKS, AGENTS, WORKERS = (200, 50, 3) if SOAK else (30, 10, 2)
SECONDS = 120.0 if SOAK else 4.0
FOLLOWERS = 20
CANCELS = TASKS // 6
KINDS = ("plain", "delegate", "shaky", "plain", "delegate", "final")
TASK_EVENTS = """subscription ($task: ID!, $after: Cursor) {
  taskEvents(taskId: $task, includeDescendants: true, after: $after) {
    __typename ... on Event { cursor kind } ... on CaughtUp { cursor } ... on Gap { cursor }
  }
}"""
Making = asyncio.Task[tuple[UUID, str]]


@pytest.mark.timeout(240 + 4 * SECONDS)
async def test_every_task_ends_once_and_every_cent_is_counted_once(installation: Installation) -> None:
    async with works(installation, agent_count=AGENTS, worker_count=WORKERS) as work:
        made: list[Making] = []
        for number in range(TASKS):
            made.append(asyncio.create_task(make(work, number, made[number - 2 :] if number % 5 == 4 else [])))
        faults = (work.kill_worker, kill_connections, kill_valkey, kill_server, work.kill_worker, kill_postgres)
        wrecking = asyncio.create_task(wreck(installation, faults, SECONDS))
        cancelling = [asyncio.create_task(cancel(work, one)) for one in random.sample(made, CANCELS)]
        created = await asyncio.gather(*made)
        followed = created[:FOLLOWERS]
        followers = [
            Follower(installation, cursor, TASK_EVENTS, {"task": to_global(Prefix.TASK, task_id)})
            for task_id, cursor in followed
        ]
        following = [asyncio.create_task(follower.follow(over_socket)) for follower in followers]
        await asyncio.gather(wrecking, *cancelling)
        await work.until_none_is_open()
        expected = [await log_of(work, task_id, cursor) for task_id, cursor in followed]
        await until_all_have(followers, [len(cursors) for cursors in expected])
        await cancelled(following)

        assert [follower.seen for follower in followers] == expected
        assert [follower.gaps for follower in followers] == [0] * len(followers)
        await check_books(work)
        await check_against_the_provider(work)
        await check_cancelled(work)


async def make(work: Works, number: int, needs: Sequence[Making]) -> tuple[UUID, str]:
    """Every fifth waits for the two that were asked for before it."""
    return await work.delegate(number, KINDS[number % len(KINDS)], [(await one)[0] for one in needs])


async def cancel(work: Works, making: Making) -> None:
    """At any moment of its life."""
    task_id, _ = await making
    await asyncio.sleep(random.random() * 3)
    await work.cancel(task_id)


async def log_of(work: Works, task_id: UUID, start: str) -> list[str]:
    """What a follower of a task and all below it has to see behind a cursor, in order: the log itself says it."""
    after = decode(start, work.installation.team.id)
    rows = await work.installation.database.fetch(
        "select position, id from event where root_task_id = $1 and (position, id) > ($2, $3) order by position, id",
        task_id,
        after.position,
        after.event_id,
    )
    return [EventCursor(row["position"], row["id"], work.installation.team.id).encode() for row in rows]


async def check_books(work: Works) -> None:
    """Nothing is found where something would be wrong."""
    assert await work.rows("select count(*) from task where team_id = $1 and parent_id is null") == [(TASKS,)]
    wrong = {
        "a task that did not end exactly once": """
            select task.id from task left join event on event.task_id = task.id and event.kind in
                ('task.completed', 'task.failed', 'task.timed_out', 'task.cancelled')
            where task.team_id = $1 group by task.id having count(event.id) <> 1""",
        "an attempt that is open, missing or twice": """
            select task.id from task left join task_attempt attempt on attempt.task_id = task.id
            where task.team_id = $1 group by task.id
            having count(attempt.id) <> attempts_made or count(attempt.ended_at) <> attempts_made""",
        "a cost that is not the sum of its attempts": """
            select task.id from task left join task_attempt attempt on attempt.task_id = task.id
            where task.team_id = $1 group by task.id
            having task.cost <> coalesce(sum(attempt.cost), 0)
                or task.tokens_used <> coalesce(sum(attempt.tokens_used), 0)""",
        "an account with money still reserved, or open": """
            select id from budget_account where team_id = $1
                and (reserved <> 0 or held <> 0 or (kind = 'task') <> (closed_at is not null))""",
        "a period whose spending is not the sum of all tasks": """
            select kind from budget_account where team_id = $1 and kind <> 'task'
            group by kind having sum(spent) <> (select sum(cost) from task where team_id = $1)""",
        "a task that began before what it needs was completed": """
            select task_dependency.task_id from task_dependency
            join event begun on begun.task_id = task_dependency.task_id and begun.kind = 'task.claimed'
            left join event ended on ended.task_id = task_dependency.needs_id and ended.kind = 'task.completed'
            where task_dependency.team_id = $1 and (ended.id is null or ended.position >= begun.position)""",
        "a task that outlived the cancelled one above it": """
            select task.id from task join task root on root.id = task.root_id
            where task.team_id = $1 and root.status = 'cancelled' and task.finished_at > root.finished_at""",
        "a delegation that is not recorded by exactly one tool call": """
            select task.id from task left join tool_call on tool_call.created_task_id = task.id
            where task.team_id = $1 and task.parent_id is not null group by task.id having count(tool_call.id) <> 1""",
    }
    assert {what: found for what, sql in wrong.items() if (found := await work.rows(sql))} == {}
    assert (await work.rows("select sum(cost) > 0 from task where team_id = $1"))[0] == (True,)
    assert (await work.rows("select count(*) > 0 from task where team_id = $1 and depth = 2"))[0] == (True,)
    assert (await work.rows("select count(*) > 0 from task_dependency where team_id = $1"))[0] == (True,)


async def check_against_the_provider(work: Works) -> None:
    """The provider counted for itself what it served for each task. An attempt whose worker was killed, or that was
    cancelled, may have been answered without living to tell; no other may differ, and none may claim more."""
    rows = await work.rows("""
        select task.instructions, task.tokens_used, task.cost, bool_and(attempt.outcome in ('completed', 'failed'))
        from task join task_attempt attempt on attempt.task_id = task.id where task.team_id = $1 group by task.id""")
    served = {number_in(what): work.provider.served[number_in(what)] for what, *_ in rows}
    told = {number_in(what): (tokens, cost, whole) for what, tokens, cost, whole in rows}
    counted = {number: (answers * sum(USAGE), answers * ANSWER_USD) for number, answers in served.items()}

    assert {n: (tokens, cost) for n, (tokens, cost, whole) in told.items() if whole} == {
        n: counted[n] for n, (_, _, whole) in told.items() if whole
    }
    assert [n for n, (tokens, cost, _) in told.items() if tokens > counted[n][0] or cost > counted[n][1]] == []
    assert any(whole and tokens for tokens, _, whole in told.values())


async def check_cancelled(work: Works) -> None:
    """Whoever was told that a task is cancelled finds it so, and its assignee is told once."""
    assert work.cancelled
    told = """select task.id from task left join event
        on event.task_id = task.id and event.kind = 'task.cancelled' and event.agent_id = task.assignee_id
        where task.team_id = $1 and task.status = 'cancelled' group by task.id having count(event.id) <> 1"""
    assert await work.rows(told) == []
    rows = await work.rows("select id from task where team_id = $1 and status = 'cancelled' and parent_id is null")
    assert {task_id for (task_id,) in rows} >= work.cancelled
