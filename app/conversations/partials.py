"""What an agent is saying, while it says it: sent from workers to API processes by one Redis channel, kept nowhere.

Best effort: a piece that is lost costs nothing, because the next has all of the text so far, and the message comes by
the event log.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from uuid import UUID

import orjson

from app.errors import Unavailable
from app.redis import Redis

CHANNEL = "parley:partials"
PAUSE_S = 0.1
_CHARACTERS_A_SECOND = 100_000  # of one text; a longer one is sent less often


@dataclass(frozen=True, slots=True)
class Speech:
    """Who is saying something, and for what."""

    team_id: UUID
    conversation_id: UUID
    reply_id: UUID
    agent_id: UUID
    task_id: UUID


@dataclass(frozen=True, slots=True)
class Partial:
    """All of the text so far; what is new in it starts at `offset`."""

    speech: Speech
    text: str
    offset: int

    def encode(self) -> bytes:
        return orjson.dumps(self, default=str)  # the database driver's ids are of a class of its own


def decode(body: str) -> Partial:
    """Raises ValueError, KeyError or TypeError for anything else."""
    raw = orjson.loads(body)
    speech = {name: UUID(value) for name, value in raw["speech"].items()}
    return Partial(Speech(**speech), str(raw["text"]), int(raw["offset"]))


class Speaker:
    """Sends what this process's agents are saying. Nobody waits for it; what comes too fast is sent together."""

    def __init__(self, redis: Redis) -> None:
        self._redis = redis
        self._due: dict[Speech, str] = {}
        self._sent: dict[Speech, str] = {}
        self._sending: asyncio.Task[None] | None = None

    def say(self, speech: Speech, text: str) -> None:
        """`text` is all that the agent has said so far."""
        self._due[speech] = text
        if self._sending is None or self._sending.done():
            self._sending = asyncio.create_task(self._send())

    def end(self, speech: Speech) -> None:
        """It has said all of it: what was not sent yet need not be sent any more."""
        self._due.pop(speech, None)
        self._sent.pop(speech, None)

    async def close(self) -> None:
        if self._sending is not None:
            self._sending.cancel()
            await asyncio.gather(self._sending, return_exceptions=True)

    async def _send(self) -> None:
        while self._due:
            characters = 0
            for speech, text in list(self._due.items()):
                if self._due.pop(speech, None) is None:  # it ended meanwhile
                    continue
                await self._publish(speech, text)
                characters += len(text)
            await asyncio.sleep(PAUSE_S + characters / _CHARACTERS_A_SECOND)

    async def _publish(self, speech: Speech, text: str) -> None:
        before = self._sent.get(speech, "")
        piece = Partial(speech, text, len(before) if text.startswith(before) else 0).encode()
        self._sent[speech] = text
        try:
            await self._redis.run(lambda client: client.publish(CHANNEL, piece))
        except Unavailable:
            return
