"""Refusals of tasks."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

from app.errors import AppError

ARROW = " → "


class UnavailableReason(StrEnum):
    PAUSED = "paused"
    ARCHIVED = "archived"
    AT_CAPACITY = "at_capacity"


class DelegationDepthExceeded(AppError):
    code = "DELEGATION_DEPTH_EXCEEDED"

    def __init__(self, chain: Sequence[str], limit: int) -> None:
        super().__init__(
            f"{ARROW.join(chain)} would be delegation {len(chain) - 1}; at most {limit} may follow each other. "
            f"Do the work here, or return to the task above.",
            chain=list(chain),
            limit=limit,
        )


class CycleDetected(AppError):
    """The work would come back to an agent that waits for it, or a task would wait for itself."""

    code = "CYCLE_DETECTED"

    def __init__(self, chain: Sequence[str], why: str, instead: str) -> None:
        super().__init__(f"{why}: {ARROW.join(chain)}. {instead}", chain=list(chain))


class OscillationDetected(AppError):
    """The same agent would ask the same agent for the same thing once too often."""

    code = "OSCILLATION_DETECTED"

    def __init__(self, chain: Sequence[str], limit: int, what: str | None = None) -> None:
        what = what or f"{chain[-2]} has asked {chain[-1]} for the same"
        super().__init__(
            f"{ARROW.join(chain)}: {what} {limit} times in this tree of tasks. "
            f"Use what was answered, ask for something else, or ask another agent.",
            chain=list(chain),
            limit=limit,
        )


class AgentUnavailable(AppError):
    code = "AGENT_UNAVAILABLE"

    def __init__(self, message: str, reason: UnavailableReason) -> None:
        super().__init__(message, reason=reason.name)


class AuthorityExceeded(AppError):
    """A task may not be given more than the task above it has."""

    code = "AUTHORITY_EXCEEDED"

    def __init__(self, missing: Sequence[str]) -> None:
        super().__init__(
            f"The task above does not grant {', '.join(missing)}. Ask for less, or delegate from a task that has it.",
            missing=list(missing),
        )


class ClaimLost(AppError):
    """A write under a claim that does not count any more; it changed nothing."""

    code = "CLAIM_LOST"

    def __init__(self) -> None:
        super().__init__(
            "This claim does not hold the task: its lease ran out, or the task was cancelled, reassigned or has ended. "
            "Stop working on it and claim again."
        )


class PutAside(ClaimLost):
    """The run itself gave its claim up: the task waits for a person."""
