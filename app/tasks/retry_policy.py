"""Which failures may pass, and how long to wait before the next attempt."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum

RETRIES = 2
ATTEMPTS = 1 + RETRIES
BACK_OFF_S = (2.0, 8.0)
MOST_WAITS = 20  # of one task for providers that limit their callers, until somebody gives it another chance
LONGEST_WAIT = timedelta(minutes=15)
JITTER = 0.2  # each wait is up to this share shorter or longer, so that what failed together does not return together


class FailureCode(StrEnum):
    """What Parley itself finds; an agent may report a code of its own."""

    LEASE_EXPIRED = "LEASE_EXPIRED"
    TIMED_OUT = "TIMED_OUT"
    LIMIT_EXCEEDED = "LIMIT_EXCEEDED"
    CONTRACT_VIOLATED = "CONTRACT_VIOLATED"
    DEPENDENCY_FAILED = "DEPENDENCY_FAILED"
    PARENT_ENDED = "PARENT_ENDED"
    CANCELLED = "CANCELLED"
    AGENT_ARCHIVED = "AGENT_ARCHIVED"


_CANNOT_PASS = frozenset(FailureCode) - {FailureCode.LEASE_EXPIRED}


@dataclass(frozen=True, slots=True)
class Retry:
    """Another attempt after a wait. `free`: the failed one does not count against those that the task has."""

    wait: timedelta
    free: bool = False


def retry_after(
    *,
    code: str,
    may_pass: bool,
    made: int,
    allowed: int,
    chance: float,
    asked: timedelta | None = None,
    waits: int = 0,
) -> Retry | None:
    """The next attempt, or None when there is to be none. `chance` is a random number, 0 to 1.

    `asked`: a provider that limits its callers said how long to wait. That is no fault of the attempt, up to a bound;
    `waits` counts how often it was so.
    """
    if not may_pass or code in _CANNOT_PASS:
        return None
    if asked is not None and waits < MOST_WAITS:
        wait = min(max(asked, timedelta(seconds=BACK_OFF_S[0])), LONGEST_WAIT)
        return Retry(wait * (1 + JITTER * chance), free=True)
    left = allowed - made
    if left <= 0:
        return None
    if code == FailureCode.LEASE_EXPIRED:
        return Retry(timedelta(0))  # its worker is gone, which says nothing of the work; the lease was wait enough
    seconds = BACK_OFF_S[max(len(BACK_OFF_S) - left, 0)]
    return Retry(timedelta(seconds=seconds * (1 - JITTER + 2 * JITTER * chance)))
