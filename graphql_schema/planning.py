"""Reads and plans new documents beside the event loop: one at a time, team by team, within a budget of CPU time.

A large document takes up to 100 ms of CPU to read and to plan. In a thread it holds up nobody: the interpreter
switches between the thread and the loop every few milliseconds. What is cached never comes here.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Callable, Hashable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from app.auth.principal import Principal
from app.config import Settings, environment_name
from app.errors import RateLimited
from app.fair_turns import FairTurns

T = TypeVar("T")
MAX_WAITING_PER_TEAM = 200
KEPT_ACCOUNTS = 20_000
# How long the thread may keep the interpreter while the loop wants it. With Python's 5 ms, a simple query beside a
# flood of new documents took 9 ms at the median and 39 to 57 at p99; with 1 ms 5 and 30 to 38.
SWITCH_S = 0.001


class Planning:
    def __init__(self, settings: Settings, clock: Callable[[], float] = time.time) -> None:
        self._thread = ThreadPoolExecutor(1, "planning")
        self._budget = PlanningBudget(settings, clock)
        self._turns = FairTurns()
        sys.setswitchinterval(SWITCH_S)

    async def run(self, principal: Principal, work: Callable[[], T]) -> T:
        """The result of the work, done in the thread; raises RateLimited when key or team has used up its time."""
        self._budget.check(principal)
        await self._turn(principal)
        loop = asyncio.get_running_loop()
        try:
            self._budget.check(principal)
            future = loop.run_in_executor(self._thread, _timed, work)
        except BaseException:
            self._turns.release()
            raise
        # The thread goes on when the request is cancelled, so that its end and not the request's frees the turn.
        future.add_done_callback(lambda done: self._finish(principal, done))
        result, error, _ = await asyncio.shield(future)
        if error is not None:
            raise error
        return result  # type: ignore[return-value]  # without an error there is a result

    def close(self) -> None:
        self._thread.shutdown(wait=False, cancel_futures=True)

    async def _turn(self, principal: Principal) -> None:
        if self._turns.waiting(principal.team_id) >= MAX_WAITING_PER_TEAM:
            raise RateLimited(
                f"{MAX_WAITING_PER_TEAM} new documents of this team wait to be planned, which is the most. Send fewer "
                "at a time, and put what varies into variables.",
                limit="waitingDocuments",
                maximum=MAX_WAITING_PER_TEAM,
                retry_after_s=1,
            )
        await self._turns.take(principal.team_id, principal.key_id)

    def _finish(self, principal: Principal, done: asyncio.Future[tuple[T | None, BaseException | None, float]]) -> None:
        if not done.cancelled():
            self._budget.spend(principal, done.result()[2])
        self._turns.release()


class PlanningBudget:
    """CPU time of each key and each team in the present window, in this process."""

    def __init__(self, settings: Settings, clock: Callable[[], float] = time.time) -> None:
        self._clock, self._window_s = clock, settings.rate_limit_window_s
        self._per_key_ms, self._per_team_ms = settings.planning_ms_per_key, settings.planning_ms_per_team
        self._window = 0
        self._spent_ms: dict[Hashable, float] = {}

    def check(self, principal: Principal) -> None:
        """Raises RateLimited."""
        self._turn_window()
        for account, owner, maximum, setting in (
            (principal.key_id, "key", self._per_key_ms, "planning_ms_per_key"),
            (principal.team_id, "team", self._per_team_ms, "planning_ms_per_team"),
        ):
            if self._spent_ms.get(account, 0) >= maximum:
                raise self._refusal(owner, maximum, environment_name(setting))

    def spend(self, principal: Principal, seconds: float) -> None:
        self._turn_window()
        for account in (principal.key_id, principal.team_id):
            self._spent_ms[account] = self._spent_ms.get(account, 0) + seconds * 1_000

    def _turn_window(self) -> None:
        window = int(self._clock() // self._window_s)
        if window != self._window or len(self._spent_ms) > KEPT_ACCOUNTS:
            self._window = window
            self._spent_ms.clear()

    def _refusal(self, owner: str, maximum: int, setting: str) -> RateLimited:
        reset_s = max(1, int((self._window + 1) * self._window_s - self._clock()) + 1)
        return RateLimited(
            f"New documents of this {owner} took {maximum} ms to plan, which is the most in a window of "
            f"{self._window_s} seconds. Documents that were planned before still run. Put what varies into variables, "
            f"so that a document is planned once, or try again in {reset_s} seconds.",
            limit="planningMs",
            maximum=maximum,
            setting=setting,
            retry_after_s=reset_s,
        )


def _timed(work: Callable[[], T]) -> tuple[T | None, BaseException | None, float]:
    """The result or the error, and the CPU seconds that it took either way."""
    started = time.thread_time()
    try:
        return work(), None, time.thread_time() - started
    except BaseException as error:
        return None, error, time.thread_time() - started
