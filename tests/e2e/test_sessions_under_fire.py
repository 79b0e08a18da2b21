"""The promise for sessions: kill workers in the middle of many; each ends, each step happens and is told once, and the
costs are those of the tasks."""

from __future__ import annotations

import asyncio
import random
from decimal import Decimal
from typing import Any

import pytest
from sqlalchemy import select, text

from app.collaborations.models import Collaboration
from app.config import Flags
from app.events.cursor import EventCursor
from app.events.models import Event
from app.ids import Prefix, to_global
from tests.fixtures.desk import Desk
from tests.fixtures.faults import Follower, cancelled, over_socket, until_all_have
from tests.fixtures.installation import SOAK, Installation
from tests.fixtures.sessions import Sessions

SESSIONS, WORKERS, KILLS, FOLLOWERS = (100, 2, 6, 25) if SOAK else (12, 2, 1, 5)
PATIENCE_S = 120.0
LEADS = ("kyra", "mira", "nora")
EVENTS = """subscription ($session: ID!, $after: Cursor) {
  collaborationEvents(collaborationId: $session, after: $after) {
    __typename ... on Event { cursor kind } ... on CaughtUp { cursor } ... on Gap { cursor }
  }
}"""
GOAL = "@wait 0.5\nCache the answers, or not?"


async def start(sessions: Sessions, number: int) -> Collaboration:
    """The patterns by turns, and the leads: each leads at most 20 at a time."""
    yes, no = "Options: yes", "Options: no"
    lead = f"lead:{LEADS[number // 6 % len(LEADS)]}"
    patterns: list[tuple[Any, ...]] = [
        ("supervisor_worker", lead, "worker:luke", "worker:ada"),
        ("pipeline", "worker:luke", "worker:ada", "worker:zara"),
        ("peer_review", "worker:luke", ("reviewer:ada", None, "Options: approved")),
        ("brainstorm", lead, "contributor:luke", "contributor:ada", "contributor:zara"),
        ("consensus", ("contributor:luke", None, yes), ("contributor:ada", None, yes), ("contributor:zara", None, no)),
        ("delegation", "worker:luke"),
    ]
    pattern, *seats = patterns[number % len(patterns)]
    return await sessions.start(pattern, *seats, goal=GOAL, max_cost_usd=Decimal("0.2"))


@pytest.mark.timeout(240)
async def test_sessions_end_once_although_workers_die(installation: Installation) -> None:
    team, database = installation.team, installation.database
    settings = installation.settings.model_copy(update={"flags": Flags(collaboration=True)})
    desk = Desk(installation.transaction, settings, team.id, {"kyra": team.kyra, "luke": team.luke})
    sessions = Sessions(desk)
    for slug in ("ada", "zara"):
        await desk.agent(slug)
    workers = [installation.another("worker") for _ in range(WORKERS)]
    for worker in workers:
        worker.launch()
    try:
        started = [await start(sessions, number) for number in range(SESSIONS)]
        beginning = EventCursor(team_id=team.id, position=0, event_id=team.id).encode()
        followers = [
            Follower(installation, beginning, EVENTS, {"session": to_global(Prefix.COLLABORATION, one.id)})
            for one in started[:FOLLOWERS]
        ]
        following = [asyncio.create_task(follower.follow(over_socket)) for follower in followers]
        for kill in range(KILLS):
            await until(desk, f"select count(*) > {kill * 20} from task where status = 'in_progress'")
            worker = random.choice(workers)
            await asyncio.to_thread(worker.kill)
            worker.launch()
        await until(desk, "select count(*) = 0 from collaboration where finished_at is null")
        expected = [await log_of(sessions, one) for one in started[:FOLLOWERS]]
        await until_all_have(followers, [len(cursors) for cursors in expected])
        await cancelled(following)
    finally:
        for worker in workers:
            worker.end()

    assert [follower.seen for follower in followers] == expected
    wrong = {
        "a session that did not complete": "select id from collaboration where team_id = $1 and status <> 'completed'",
        "a stage that was not told of exactly twice": """
            select stage.id from collaboration_stage stage left join event on event.task_id = stage.task_id
                and event.kind like 'collaboration.stage%'
            where stage.team_id = $1 group by stage.id having count(event.id) <> 2""",
        "a stage twice": """
            select collaboration_id from collaboration_stage where team_id = $1
            group by collaboration_id, kind, round, part having count(*) > 1""",
        "a cost that is not that of the tasks": """
            select session.id from collaboration session join budget_account account on account.id = session.budget_id
            where session.team_id = $1 and (account.closed_at is null or account.reserved <> 0 or account.spent <>
                (select sum(cost) from task where collaboration_id = session.id))""",
    }
    found = {what: await database.fetch(sql, team.id) for what, sql in wrong.items()}
    assert {what: rows for what, rows in found.items() if rows} == {}
    assert await desk.open_count() == 0


async def until(desk: Desk, question: str) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not await _answer(desk, question):  # noqa: ASYNC110 - other processes do it
            await asyncio.sleep(0.05)


async def _answer(desk: Desk, question: str) -> bool:
    async with desk.transaction() as session:
        return bool(await session.scalar(text(question)))


async def log_of(sessions: Sessions, one: Collaboration) -> list[str]:
    """What a follower has to see, in order: the log itself says it."""
    async with sessions.desk.transaction() as session:
        mine = select(Event.position, Event.id).where(Event.collaboration_id == one.id)
        rows = (await session.execute(mine.order_by(Event.position, Event.id))).all()
    return [EventCursor(row.position, row.id, one.team_id).encode() for row in rows]
