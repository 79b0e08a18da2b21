"""Spaces out what keeps the event loop busy: after each large piece of work, others have as long for theirs.

graphql-core completes a list in one go. Ten such lists that arrive together would hold up everybody for their sum.
"""

from __future__ import annotations

import asyncio
from collections.abc import Hashable

from app.fair_turns import FairTurns

VALUE_S = 12e-6  # what graphql-core takes to complete a value
SMALL_VALUES = 200  # what is smaller goes at once
PAUSE = 2  # a turn lasts this many times as long as its work


class Pacer:
    def __init__(self) -> None:
        self._turns = FairTurns()

    async def wait(self, team: Hashable, key: Hashable, values: int) -> None:
        """Returns when so many values may be completed, which the caller does next without waiting."""
        if values <= SMALL_VALUES:
            return
        await self._turns.take(team, key)
        asyncio.get_running_loop().call_later(PAUSE * values * VALUE_S, self._turns.release)
