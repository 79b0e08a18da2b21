"""How a run waits for what others do."""

from __future__ import annotations

from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import pytest

from app.errors import Unavailable
from app.managed.waiting import wait_until

DESK: Any = SimpleNamespace(run=SimpleNamespace(resting=nullcontext))


async def test_who_does_not_wait_does_not_look() -> None:
    await wait_until(DESK, lambda: pytest.fail("it was looked at"), seconds=0)


async def test_it_looks_until_it_has_ended_also_when_the_database_was_away() -> None:
    seen: list[bool] = []

    async def ended() -> bool:
        seen.append(len(seen) == 1)
        if not seen[-1]:
            raise Unavailable("The database is away.")
        return True

    await wait_until(DESK, ended, seconds=60)

    assert seen == [False, True]
