"""Which failures are tried again, and after which wait."""

from __future__ import annotations

from datetime import timedelta

import pytest

from app.tasks.retry_policy import ATTEMPTS, FailureCode, Retry, retry_after


@pytest.mark.parametrize(
    ("made", "may_pass", "code", "chance", "wait"),
    [
        (1, True, "FAILED", 0.5, 2.0),
        (2, True, "FAILED", 0.5, 8.0),
        (1, True, "FAILED", 0.0, 1.6),
        (1, True, "FAILED", 1.0, 2.4),
        (1, True, FailureCode.LEASE_EXPIRED, 0.5, 0.0),
        (3, True, FailureCode.LEASE_EXPIRED, 0.5, None),
        (3, True, "FAILED", 0.5, None),
        (1, False, "FAILED", 0.5, None),
        (1, True, FailureCode.LIMIT_EXCEEDED, 0.5, None),
        (1, True, FailureCode.CONTRACT_VIOLATED, 0.5, None),
    ],
)
def test_retry_policy(made: int, may_pass: bool, code: str, chance: float, wait: float | None) -> None:
    decided = retry_after(code=code, may_pass=may_pass, made=made, allowed=ATTEMPTS, chance=chance)

    assert decided == (None if wait is None else Retry(timedelta(seconds=wait)))


@pytest.mark.parametrize(
    ("waits", "may_pass", "asked", "wait"),
    [(0, True, 30, 30.0), (1, True, 0, 2.0), (2, True, 86_400, 900.0), (0, False, 30, None), (20, True, 30, None)],
)
def test_a_wait_that_a_provider_asks_for_is_no_attempt(
    waits: int, may_pass: bool, asked: float, wait: float | None
) -> None:
    decided = retry_after(
        code="RATE_LIMITED",
        may_pass=may_pass,
        made=3 + waits,
        allowed=3 + waits,
        chance=0.0,
        asked=timedelta(seconds=asked),
        waits=waits,
    )

    assert decided == (None if wait is None else Retry(timedelta(seconds=wait), free=True))
