"""Why an attempt or a task failed, and what a run used."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from typing import Annotated, Any

from pydantic import Field, StringConstraints, field_validator

from app.agents.spec import Strict, text
from app.errors import FieldProblem
from app.tasks.retry_policy import FailureCode

MOST_TOLD = 4_000  # characters of a failure that names many fields


@dataclass(frozen=True, slots=True)
class Failure:
    code: str
    message: str
    may_pass: bool = False
    wait: timedelta | None = None  # asked for by a provider that limits its callers


class Usage(Strict):
    """What an attempt has used so far, in all, and on which model."""

    tokens: Annotated[int, Field(ge=0, le=2_000_000_000)] = 0
    cost: Annotated[Decimal, Field(ge=0, le=1_000_000, decimal_places=6)] = Decimal(0)
    model: Annotated[str, text(120, 1)] | None = None
    metadata: dict[str, Any] | None = None
    self_reported: bool = False  # by the agent's own program: booked only as far as the task's budget goes


class ReportedFailure(Strict):
    """What an agent may say of its own failure."""

    code: Annotated[str, StringConstraints(pattern=r"^[A-Z][A-Z0-9_]{0,63}$")] = "FAILED"
    message: Annotated[str, text(10_000, 1)]
    may_pass: bool = True

    @field_validator("code")
    @classmethod
    def _not_ours(cls, code: str) -> str:
        if code in frozenset(FailureCode):
            raise ValueError(f"{code} is Parley's own word; choose another")
        return code


NOTHING = Usage()
TIMED_OUT = Failure(
    FailureCode.TIMED_OUT, "The time given to the task (timeoutSeconds) ran out. What it had reported is kept."
)
LEASE_EXPIRED = Failure(FailureCode.LEASE_EXPIRED, "No heartbeat came before the lease ran out.", may_pass=True)
AGENT_ARCHIVED = Failure(FailureCode.AGENT_ARCHIVED, "Its agent was archived. Replay it with another assignee.")
PARENT_ENDED = Failure(FailureCode.PARENT_ENDED, "The task above it ended or started again.")


def over_limit(what: str) -> Failure:
    return Failure(
        FailureCode.LIMIT_EXCEEDED,
        f"The attempt used more than the task allows: {what}. Replay it with a higher one.",
    )


def output_unfit(problems: Iterable[FieldProblem]) -> Failure:
    told = f"The output does not fit the task's outputSchema: {_listed(problems)}"
    return Failure(FailureCode.CONTRACT_VIOLATED, told[:MOST_TOLD])


def _listed(problems: Iterable[FieldProblem]) -> str:
    return "; ".join(f"{problem['path']}: {problem['message']}" for problem in problems)


def contract_violated(name: str, version: int, problems: Iterable[FieldProblem]) -> Failure:
    told = _listed(problems)
    return Failure(
        FailureCode.CONTRACT_VIOLATED, f"The output does not fit version {version} of '{name}': {told}"[:MOST_TOLD]
    )


def dependency_failed(title: str, reason: str | None) -> Failure:
    return Failure(FailureCode.DEPENDENCY_FAILED, f"It depends on '{title}', which did not complete: {reason or '?'}")
