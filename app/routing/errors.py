"""Refusals of routing."""

from __future__ import annotations

from app.errors import AppError


class NoAgentAvailable(AppError):
    """A message is for nobody: no agent was named and there is no default agent, or it is not active or left out."""

    code = "NO_AGENT_AVAILABLE"

    def __init__(
        self,
        message: str = "No agent was named, and the team has no active default agent. Name an agent, or resume the "
        "default agent.",
    ) -> None:
        super().__init__(message)


class AgentNotActive(AppError):
    """The named agent is paused or archived."""

    code = "AGENT_UNAVAILABLE"

    def __init__(self, name: str, status: str) -> None:
        super().__init__(f"{name} is {status} and answers no message. Name another agent.", reason=status.upper())
