"""The promise for work: kill workers, the API, Redis with its data and Postgres; every task ends once, every cent and
every side effect is counted once, and whoever follows a task sees each of its steps once."""

from __future__ import annotations

import asyncio
import json
import random
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import httpx
import pytest
from starlette.types import Receive, Send

from app.agents import service as agents
from app.agents.spec import AgentSpec
from app.auth.roles import Role
from app.events.cursor import EventCursor, decode
from app.events.log import SYSTEM
from app.ids import Prefix, from_global, to_global
from app.teams import service as teams
from app.teams.flags import FeatureFlag
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
from tests.fixtures.installation import SOAK, Installation, ParleyProcess
from tests.fixtures.openai_server import OpenAIServer, calls, fails, openai_server, says

TASKS, AGENTS, WORKERS = (200, 50, 3) if SOAK else (30, 10, 2)
SECONDS = 120.0 if SOAK else 4.0
FOLLOWERS = 20
PATIENCE_S = 120.0
DELEGATE = """mutation ($creator: ID!, $assignee: ID!, $title: String!, $kind: String!, $key: String!) {
  delegateTask(input: {creatorId: $creator, assigneeId: $assignee, type: EXECUTE, title: $title, instructions: $kind,
    maxTokens: 100000, timeoutSeconds: 60, budgetUsd: 0.05, idempotencyKey: $key}) {
    __typename
    ... on TaskPayload { eventCursor task { id } }
    ... on Refusal { code message }
  }
}"""
TASK_EVENTS = """subscription ($task: ID!, $after: Cursor) {
  taskEvents(taskId: $task, includeDescendants: true, after: $after) {
    __typename ... on Event { cursor kind } ... on CaughtUp { cursor } ... on Gap { cursor }
  }
}"""


class Provider:
    """A model that answers by the kind of task: at once, after delegating and waiting, after failing, or never well."""

    def __init__(self, slugs: list[str]) -> None:
        self._slugs = slugs

    async def __call__(self, receive: Receive, send: Send, server: OpenAIServer) -> None:
        messages = server.asked[-1]["messages"]
        await asyncio.sleep(random.random() / 2)
        reply = self._reply(str(messages), [str(one["content"]) for one in messages if one["role"] == "tool"])
        await reply(receive, send, server)

    def _reply(self, prompt: str, results: list[str]) -> Any:
        usage = (1_000, 500)
        if "kind: final" in prompt:
            return fails(400)
        if "kind: shaky" in prompt and random.random() < 0.5:
            return fails(500)
        if "kind: delegate" in prompt and not results:
            wanted = {"agent": random.choice(self._slugs), "title": "below", "instructions": "kind: plain"}
            return calls(("delegate_task", json.dumps(wanted)), usage=usage)
        if results and (made := re.search(r"task_[0-9a-f]{32}", results[-1])):
            wait = {"task_id": made.group(), "wait_seconds": 20}
            return calls(("check_task_status", json.dumps(wait)), usage=usage)
        return says("Done.", usage=usage)


@dataclass
class Works:
    """Workers of an installation on a model of the test's own, and a team with agents for them."""

    installation: Installation
    workers: list[ParleyProcess]
    agent_ids: list[str]

    async def delegate(self, number: int, kind: str) -> tuple[UUID, str]:
        """A task and the cursor of its creation. Asked again, under one key, until an answer comes."""
        creator, assignee = self.agent_ids[number % AGENTS], self.agent_ids[(number + 1) % AGENTS]
        asked = {"creator": creator, "assignee": assignee, "title": str(number), "kind": kind, "key": f"t-{number}"}
        headers = {"Authorization": f"Bearer {self.installation.team.secrets[Role.ADMIN]}"}
        async with httpx.AsyncClient(base_url=self.installation.server.url, headers=headers, timeout=10) as client:
            while True:
                with suppress(httpx.HTTPError, json.JSONDecodeError, KeyError, TypeError):
                    answer = (await client.post("/graphql", json={"query": DELEGATE, "variables": asked})).json()
                    payload = answer["data"]["delegateTask"]
                    if payload["__typename"] == "TaskPayload":
                        return from_global(Prefix.TASK, payload["task"]["id"]), payload["eventCursor"]
                await asyncio.sleep(0.2)

    async def kill_worker(self, installation: Installation) -> None:
        worker = random.choice(self.workers)
        await asyncio.to_thread(worker.kill)
        worker.launch()

    async def rows(self, sql: str) -> list[tuple[Any, ...]]:
        return [tuple(row) for row in await self.installation.database.fetch(sql, self.installation.team.id)]

    async def until_none_is_open(self) -> None:
        async with asyncio.timeout(PATIENCE_S):
            while await self.rows("select 1 from task where team_id = $1 and finished_at is null limit 1"):  # noqa: ASYNC110
                await asyncio.sleep(0.2)


@asynccontextmanager
async def works(installation: Installation) -> AsyncIterator[Works]:
    ids, slugs = [], [f"agent-{number}" for number in range(AGENTS)]
    async with installation.transaction() as session:
        await teams.set_flags(
            session, team_id=installation.team.id, changes={FeatureFlag.TASK_DELEGATION: True}, actor=SYSTEM
        )
        for slug in slugs:
            spec = AgentSpec(slug=slug, name=slug)
            made = await agents.create(session, team_id=installation.team.id, spec=spec, actor=SYSTEM)
            ids.append(to_global(Prefix.AGENT, made.id))
    async with openai_server() as server:
        server.script(Provider(slugs))
        workers = [installation.another("worker") for _ in range(WORKERS)]
        for worker in workers:
            worker.environment |= {
                "PARLEY_MODEL_TIER_1": "openai:gpt-4o-mini",
                "OPENAI_BASE_URL": server.url,
                "OPENAI_API_KEY": "a-test",
            }
            worker.launch()
        try:
            yield Works(installation, workers, ids)
        finally:
            for worker in workers:
                worker.end()


def kind_of(number: int) -> str:
    return "kind: " + ("plain", "delegate", "shaky", "plain", "delegate", "final")[number % 6]


@pytest.mark.timeout(240 + SECONDS)
async def test_every_task_ends_once_and_every_cent_is_counted_once(installation: Installation) -> None:
    async with works(installation) as work:
        made = [asyncio.create_task(work.delegate(number, kind_of(number))) for number in range(TASKS)]
        faults = (work.kill_worker, kill_connections, kill_valkey, kill_server, work.kill_worker, kill_postgres)
        wrecking = asyncio.create_task(wreck(installation, faults, SECONDS))
        created = await asyncio.gather(*made)
        followed = created[:FOLLOWERS]
        followers = [
            Follower(installation, cursor, TASK_EVENTS, {"task": to_global(Prefix.TASK, task_id)})
            for task_id, cursor in followed
        ]
        following = [asyncio.create_task(follower.follow(over_socket)) for follower in followers]
        await wrecking
        await work.until_none_is_open()
        expected = [await log_of(work, task_id, cursor) for task_id, cursor in followed]
        await until_all_have(followers, [len(cursors) for cursors in expected])
        await cancelled(following)

        assert [follower.seen for follower in followers] == expected
        assert [follower.gaps for follower in followers] == [0] * len(followers)
        await check_books(work)


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
            having count(attempt.id) <> attempts_made or bool_or(attempt.ended_at is null)""",
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
        "a delegation that is not recorded by exactly one tool call": """
            select task.id from task left join tool_call on tool_call.created_task_id = task.id
            where task.team_id = $1 and task.parent_id is not null group by task.id having count(tool_call.id) <> 1""",
    }
    assert {what: found for what, sql in wrong.items() if (found := await work.rows(sql))} == {}
    assert (await work.rows("select sum(cost) > 0 from task where team_id = $1"))[0] == (True,)
    assert (await work.rows("select count(*) > 0 from task where team_id = $1 and depth = 2"))[0] == (True,)
