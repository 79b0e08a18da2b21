"""A collaboration session with 20 agents whose tasks advance at a given rate; every step writes a real event.

Each line of standard input is a command, answered with a line: `seed` creates the session with a number of spans,
`advance` writes a number of events.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from uuid import UUID, uuid4

from sqlalchemy import select, text

from app.agents.models import Agent, AgentStatus
from app.collaborations import service
from app.collaborations.spec import parse_collaboration
from app.config import Flags, load_settings
from app.db import tables  # noqa: F401 - a flush follows foreign keys into slices that nothing else here imports
from app.db.engine import Database
from app.db.transaction import Transactions
from app.dispatch import Dispatcher
from app.events.kinds import EventKind
from app.events.log import Actor
from app.ids import Prefix, to_global
from app.redis import Redis
from app.tasks.models import Task, TaskStatus
from app.tasks.narration import end_of, tell

ACTOR = Actor("bench")
AGENTS = 20
BATCH_SIZE = 10
UNLIMITED_USD = Decimal(1_000_000)
# Copies the session's tasks with the listed differences; half of the copies are completed, spread over ten minutes.
COPY = text("""
    insert into task
    select copy.*
    from (select uuidv7() as id, number, number % 2 = 0 as completed,
                 now() - interval '10 minutes' + number * interval '10 minutes' / cast(:count as int) as started
          from generate_series(1, cast(:count as int)) as number) as copies
    join (select to_jsonb(task) as fields, row_number() over (order by id) - 1 as place from task
          where collaboration_id = :session) as original on original.place = copies.number % 19
    cross join lateral jsonb_populate_record(null::task, original.fields || jsonb_build_object(
        'id', copies.id, 'root_id', copies.id, 'title', 'Look at part ' || copies.number,
        'created_at', copies.started - interval '1 second', 'updated_at', copies.started, 'ready_at', copies.started,
        'status', case when copies.completed then 'completed' else 'pending' end,
        'started_at', case when copies.completed then copies.started end,
        'attempts_made', case when copies.completed then 1 else 0 end,
        'finished_at', case when copies.completed then copies.started + interval '9 seconds' end,
        'result', case when copies.completed then 'Nothing new.' end)) as copy
""")


class Feed:
    def __init__(self) -> None:
        self._settings = load_settings(
            flags=Flags(collaboration=True), team_day_budget_usd=UNLIMITED_USD, team_month_budget_usd=UNLIMITED_USD
        )
        database = Database(self._settings)
        dispatcher = Dispatcher(self._settings, database, Redis(self._settings))
        self._transaction = Transactions(database, dispatcher)
        self._team_id = UUID(os.environ["TEAM_ID"])
        self._pending: list[UUID] = []

    async def seed(self, spans: int) -> str:
        """Creates the session and returns its id."""
        async with self._transaction() as session:
            query = select(Agent.id).where(Agent.team_id == self._team_id, Agent.status == AgentStatus.ACTIVE)
            agents = list(await session.scalars(query.order_by(Agent.slug).limit(AGENTS)))
            participants = [
                {"agent_id": agent_id, "role": "worker" if place else "lead"} for place, agent_id in enumerate(agents)
            ]
            fields = {"pattern": "supervisor_worker", "goal": "Read it all.", "participants": participants}
            spec = parse_collaboration(fields | {"max_duration_seconds": 86_400})
            row = await service.start(session, team_id=self._team_id, spec=spec, settings=self._settings, actor=ACTOR)
            await session.flush()
            await session.execute(COPY, {"count": spans - AGENTS + 1, "session": row.id})
            pending = select(Task.id).where(Task.collaboration_id == row.id, Task.status == TaskStatus.PENDING)
            self._pending = list(await session.scalars(pending.order_by(Task.id)))[AGENTS - 1 :]
            return to_global(Prefix.COLLABORATION, row.id)

    async def advance(self, events: int, rate: float) -> float:
        """Writes events at a rate and returns the rate that was reached."""
        started, steps = time.perf_counter(), self._steps()
        for number in range(0, events, BATCH_SIZE):
            await asyncio.sleep(max(0.0, started + number / rate - time.perf_counter()))
            async with self._transaction() as session:
                for _ in range(BATCH_SIZE):
                    task_id, kind = next(steps)
                    row = await session.get_one(Task, task_id)
                    _advance(row, kind)
                    tell(session, kind, row, ACTOR, **(end_of(row) if kind is EventKind.TASK_COMPLETED else {}))
        return events / (time.perf_counter() - started)

    def _steps(self) -> Iterator[tuple[UUID, EventKind]]:
        """Yields steps: each task is claimed, reports progress and completes; then the last one reports forever."""
        kinds = (EventKind.TASK_CLAIMED, EventKind.TASK_PROGRESSED, EventKind.TASK_PROGRESSED, EventKind.TASK_COMPLETED)
        for start in range(0, len(self._pending), AGENTS):
            for kind in kinds:
                yield from ((task_id, kind) for task_id in self._pending[start : start + AGENTS])
        while True:
            yield self._pending[-1], EventKind.TASK_PROGRESSED


def _advance(row: Task, kind: EventKind) -> None:
    now = datetime.now(UTC)
    if kind is EventKind.TASK_CLAIMED:
        row.status, row.started_at, row.attempts_made, row.claim_token = TaskStatus.IN_PROGRESS, now, 1, uuid4()
        row.lease_until = row.deadline = now + timedelta(hours=1)
    elif kind is EventKind.TASK_COMPLETED:
        row.status, row.finished_at, row.result = TaskStatus.COMPLETED, now, "Nothing new."
        row.claim_token = row.lease_until = row.deadline = None


async def main() -> None:
    feed, loop = Feed(), asyncio.get_running_loop()
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        command = json.loads(line)
        if "seed" in command:
            print(json.dumps({"session": await feed.seed(command["seed"])}), flush=True)
        else:
            print(json.dumps({"rate": await feed.advance(command["advance"], command["rate"])}), flush=True)


if __name__ == "__main__":
    asyncio.run(main())
