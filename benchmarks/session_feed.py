"""A session with 20 agents and as many spans as are wanted, whose tasks go on at a rate; each step is a real event.

Each line of standard input is an order, answered by a line: `seed` makes the session, `go` lets it go on.
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
AT_ONCE = 10
ENOUGH = Decimal(1_000_000)
# The copies differ from a stage's task in what is listed; half of them are done, one after the other over ten minutes.
COPY = text("""
    insert into task
    select copy.*
    from (select uuidv7() as id, number, number % 2 = 0 as done,
                 now() - interval '10 minutes' + number * interval '10 minutes' / cast(:count as int) as begun
          from generate_series(1, cast(:count as int)) as number) as made
    join (select to_jsonb(task) as fields, row_number() over (order by id) - 1 as place from task
          where collaboration_id = :session) as one on one.place = made.number % 19
    cross join lateral jsonb_populate_record(null::task, one.fields || jsonb_build_object(
        'id', made.id, 'root_id', made.id, 'title', 'Look at part ' || made.number,
        'created_at', made.begun - interval '1 second', 'updated_at', made.begun, 'ready_at', made.begun,
        'status', case when made.done then 'completed' else 'pending' end,
        'started_at', case when made.done then made.begun end, 'attempts_made', case when made.done then 1 else 0 end,
        'finished_at', case when made.done then made.begun + interval '9 seconds' end,
        'result', case when made.done then 'Nothing new.' end)) as copy
""")


class Feed:
    def __init__(self) -> None:
        self._settings = load_settings(
            flags=Flags(collaboration=True), team_day_budget_usd=ENOUGH, team_month_budget_usd=ENOUGH
        )
        database = Database(self._settings)
        dispatcher = Dispatcher(self._settings, database, Redis(self._settings))
        self._transaction = Transactions(database, dispatcher)
        self._team_id = UUID(os.environ["TEAM_ID"])
        self._open: list[UUID] = []

    async def seed(self, spans: int) -> str:
        """Answers the session's id."""
        async with self._transaction() as session:
            mine = select(Agent.id).where(Agent.team_id == self._team_id, Agent.status == AgentStatus.ACTIVE)
            agents = list(await session.scalars(mine.order_by(Agent.slug).limit(AGENTS)))
            seats = [{"agent_id": one, "role": "worker" if place else "lead"} for place, one in enumerate(agents)]
            fields = {"pattern": "supervisor_worker", "goal": "Read it all.", "participants": seats}
            spec = parse_collaboration(fields | {"max_duration_seconds": 86_400})
            row = await service.start(session, team_id=self._team_id, spec=spec, settings=self._settings, actor=ACTOR)
            await session.flush()
            await session.execute(COPY, {"count": spans - AGENTS + 1, "session": row.id})
            waiting = select(Task.id).where(Task.collaboration_id == row.id, Task.status == TaskStatus.PENDING)
            self._open = list(await session.scalars(waiting.order_by(Task.id)))[AGENTS - 1 :]
            return to_global(Prefix.COLLABORATION, row.id)

    async def go(self, events: int, rate: float) -> float:
        """Answers the rate that was kept."""
        started, steps = time.perf_counter(), self._steps()
        for number in range(0, events, AT_ONCE):
            await asyncio.sleep(max(0.0, started + number / rate - time.perf_counter()))
            async with self._transaction() as session:
                for _ in range(AT_ONCE):
                    task_id, kind = next(steps)
                    row = await session.get_one(Task, task_id)
                    _advance(row, kind)
                    tell(session, kind, row, ACTOR, **(end_of(row) if kind is EventKind.TASK_COMPLETED else {}))
        return events / (time.perf_counter() - started)

    def _steps(self) -> Iterator[tuple[UUID, EventKind]]:
        """Each open task is taken up, tells of progress and is done; then the last ones go on telling."""
        kinds = (EventKind.TASK_CLAIMED, EventKind.TASK_PROGRESSED, EventKind.TASK_PROGRESSED, EventKind.TASK_COMPLETED)
        for start in range(0, len(self._open), AGENTS):
            for kind in kinds:
                yield from ((task_id, kind) for task_id in self._open[start : start + AGENTS])
        while True:
            yield self._open[-1], EventKind.TASK_PROGRESSED


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
        order = json.loads(line)
        if "seed" in order:
            print(json.dumps({"session": await feed.seed(order["seed"])}), flush=True)
        else:
            print(json.dumps({"rate": await feed.go(order["go"], order["rate"])}), flush=True)


if __name__ == "__main__":
    asyncio.run(main())
