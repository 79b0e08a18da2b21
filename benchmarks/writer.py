"""Writes events: each line of standard input requests a number of them, at a rate or as fast as possible.

Serves both contenders alike: it appends the event to the log in a transaction, and after the commit it wakes Parley and
publishes the whole event, which the Node server needs. The time stamp is taken before the transaction.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from typing import Any
from uuid import UUID

from app.config import load_settings
from app.db import tables  # noqa: F401 - a flush follows foreign keys into slices that nothing else here imports
from app.db.engine import Database
from app.db.transaction import Transactions
from app.dispatch import Dispatcher
from app.events.cursor import EventCursor
from app.events.kinds import EventKind
from app.events.log import Actor, append
from app.events.models import Event
from app.redis import Redis

CHANNEL = "bench:events"
BATCH_SIZE = 10  # events per transaction when unpaced
ACTOR = Actor("bench")


class Writer:
    def __init__(self) -> None:
        settings = load_settings()
        self._database, self._redis = Database(settings), Redis(settings)
        self._transaction = Transactions(self._database, Dispatcher(settings, self._database, self._redis))
        self._team_id = UUID(os.environ["TEAM_ID"])

    async def write(self, count: int) -> None:
        async with self._transaction() as session:
            events = [
                append(session, EventKind.AGENT_UPDATED, team_id=self._team_id, actor=ACTOR,
                       changes={"sent": time.time_ns(), "note": "what changed, in some sixty characters of plain text"})
                for _ in range(count)
            ]  # fmt: skip
            await session.flush()
        async with self._redis.client.pipeline(transaction=False) as pipeline:
            for event in events:
                pipeline.publish(CHANNEL, json.dumps(event_payload(event), separators=(",", ":")))
            await pipeline.execute()

    async def write_all(self, events: int, rate: float | None) -> None:
        if rate is None:
            for _ in range(0, events, BATCH_SIZE):
                await self.write(BATCH_SIZE)
            return
        started = time.perf_counter()
        for number in range(events):
            await asyncio.sleep(max(0.0, started + number / rate - time.perf_counter()))
            await self.write(1)


def event_payload(event: Event) -> dict[str, Any]:
    """Returns the event with the fields that its subscribers select."""
    cursor = EventCursor(team_id=event.team_id, position=event.position, event_id=event.id).encode()
    return {
        "__typename": "Event",
        "id": f"event_{event.id.hex}",
        "kind": "AGENT_UPDATED",
        "at": event.at.isoformat(),
        "actor": event.actor,
        "changes": event.changes,
        "cursor": cursor,
    }


async def main() -> None:
    writer, loop = Writer(), asyncio.get_running_loop()
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        command = json.loads(line)
        await writer.write_all(command["events"], command.get("rate"))
        print("{}", flush=True)


if __name__ == "__main__":
    asyncio.run(main())
