"""One piece of work at a time, in turns: team by team, and within a team key by key."""

from __future__ import annotations

import asyncio
from collections.abc import Hashable

from app.fair_queue import FairQueue


class FairTurns:
    def __init__(self) -> None:
        self._waiting: FairQueue[asyncio.Future[None]] = FairQueue()
        self._busy = False

    def waiting(self, team: Hashable) -> int:
        return self._waiting.count(team)

    async def take(self, team: Hashable, key: Hashable) -> None:
        """Returns when it is this caller's turn, which lasts until `release`."""
        if not self._busy:
            self._busy = True
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.push(team, key, turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self.release()
            raise

    def release(self) -> None:
        while turn := self._waiting.pop(lambda _: True):
            if not turn.done():
                turn.set_result(None)
                return
        self._busy = False
