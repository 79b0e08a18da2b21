"""Which status an agent may change to."""

from __future__ import annotations

from app.agents.models import AgentStatus

ALLOWED_FROM: dict[AgentStatus, frozenset[AgentStatus]] = {
    AgentStatus.ACTIVE: frozenset({AgentStatus.PAUSED}),
    AgentStatus.PAUSED: frozenset({AgentStatus.ACTIVE}),
    AgentStatus.ARCHIVED: frozenset({AgentStatus.ACTIVE, AgentStatus.PAUSED}),
}


def refusal(name: str, current: AgentStatus, wanted: AgentStatus) -> str:
    if current is wanted:
        return f"{name} is already {wanted.value}."
    return f"{name} is {current.value}; only an agent that is {_or(ALLOWED_FROM[wanted])} can become {wanted.value}."


def _or(statuses: frozenset[AgentStatus]) -> str:
    return " or ".join(sorted(status.value for status in statuses))
