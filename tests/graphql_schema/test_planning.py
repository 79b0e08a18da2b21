"""New documents are planned one at a time, team by team, within the CPU time of their key and team."""

from __future__ import annotations

import asyncio
import threading
import time
from uuid import UUID, uuid4

import pytest

from app.auth.principal import Principal
from app.auth.roles import Role
from app.config import load_settings
from app.errors import RateLimited
from graphql_schema.planning import Planning, PlanningBudget

SETTINGS = load_settings(planning_ms_per_key=100, planning_ms_per_team=250, rate_limit_window_s=60)


def principal(team_id: UUID) -> Principal:
    return Principal(secret="", key_id=uuid4(), team_id=team_id, role=Role.ANALYST, name="key", agent_id=None)


def spin(seconds: float) -> None:
    """Uses so much CPU time."""
    until = time.thread_time() + seconds
    while time.thread_time() < until:
        pass


async def test_time_of_a_key_is_used_up_by_its_work_and_back_in_the_next_window() -> None:
    now = 0.0
    planning, caller = Planning(SETTINGS, clock=lambda: now), principal(uuid4())

    assert await planning.run(caller, lambda: spin(0.11) or "planned") == "planned"
    with pytest.raises(RateLimited, match="took 100 ms to plan") as refusal:
        await planning.run(caller, lambda: None)

    assert refusal.value.details["setting"] == "PARLEY_PLANNING_MS_PER_KEY"
    assert refusal.value.details["retry_after_s"] == 61
    now = 60.0
    assert await planning.run(caller, lambda: "planned") == "planned"
    planning.close()


def test_keys_of_a_team_share_the_time_of_the_team() -> None:
    budget, team_id = PlanningBudget(SETTINGS, clock=lambda: 0.0), uuid4()
    for _ in range(3):
        budget.spend(principal(team_id), 0.09)

    with pytest.raises(RateLimited) as refusal:
        budget.check(principal(team_id))

    assert refusal.value.details["setting"] == "PARLEY_PLANNING_MS_PER_TEAM"
    budget.check(principal(uuid4()))


async def test_work_that_fails_raises_its_error_and_is_paid_for() -> None:
    planning, caller = Planning(SETTINGS, clock=lambda: 0.0), principal(uuid4())

    def fail() -> None:
        spin(0.11)
        raise ValueError("wrong")

    with pytest.raises(ValueError, match="wrong"):
        await planning.run(caller, fail)
    with pytest.raises(RateLimited):
        await planning.run(caller, fail)
    planning.close()


async def test_another_team_goes_before_the_second_of_a_busy_one() -> None:
    planning, busy, other = Planning(SETTINGS), principal(uuid4()), principal(uuid4())
    may_end, order = threading.Event(), []
    running = [asyncio.create_task(planning.run(busy, may_end.wait))]
    await asyncio.sleep(0)
    for caller, name in ((busy, "busy 1"), (busy, "busy 2"), (other, "other")):
        running.append(asyncio.create_task(planning.run(caller, lambda name=name: order.append(name))))
        await asyncio.sleep(0)

    may_end.set()
    await asyncio.gather(*running)

    assert order == ["busy 1", "other", "busy 2"]
    planning.close()


async def test_cancelled_request_keeps_its_turn_until_the_thread_is_done() -> None:
    planning, caller = Planning(SETTINGS), principal(uuid4())
    may_end, at_once = threading.Event(), []
    first = asyncio.create_task(planning.run(caller, may_end.wait))
    await asyncio.sleep(0)
    first.cancel()
    second = asyncio.create_task(planning.run(caller, lambda: at_once.append(may_end.is_set())))
    await asyncio.sleep(0)

    may_end.set()
    await asyncio.gather(first, second, return_exceptions=True)

    assert first.cancelled()
    assert at_once == [True]
    planning.close()
