"""What may be delegated to whom: the task's fields and limits, the chain of agents, and authority that only narrows."""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from typing import Annotated, Any

from pydantic import Field, StringConstraints, ValidationError

from app.agents.spec import MAX_TOOLS, Strict, Word, problems_of, text
from app.errors import InvalidInput
from app.tasks.errors import AuthorityExceeded, CycleDetected, DelegationDepthExceeded
from app.tasks.models import MAX_DEPTH, TaskPriority, TaskType

MAX_OPEN_TASKS = 5
MAX_ARTIFACTS = 50
MAX_DEPENDENCIES = 50
MAX_INSTRUCTIONS = 100_000
MAX_TITLE = 200
REFERENCE = r"^((artifact|memory|file|task):|https?://)[^\s\x00]+$"
# How much earlier than it was made a task counts as due. Urgent overtakes an hour of normal work; low waits at most
# 70 minutes behind urgent tasks that keep coming, and is then due before the next of them.
HEAD_START = {
    TaskPriority.URGENT: timedelta(hours=1),
    TaskPriority.HIGH: timedelta(minutes=10),
    TaskPriority.NORMAL: timedelta(0),
    TaskPriority.LOW: timedelta(minutes=-10),
}
_ANOTHER = "Ask an agent outside this chain, or do the work here."
Reference = Annotated[str, StringConstraints(max_length=2_000, pattern=REFERENCE)]


class TaskSpec(Strict):
    type: TaskType
    title: Annotated[str, text(MAX_TITLE, 1)]
    instructions: Annotated[str, text(MAX_INSTRUCTIONS, 1)]
    context: Annotated[str, text(MAX_INSTRUCTIONS)] = ""
    expected_output: Annotated[str, text(10_000)] = ""
    input_artifacts: Annotated[tuple[Reference, ...], Field(max_length=MAX_ARTIFACTS)] = ()
    priority: TaskPriority = TaskPriority.NORMAL
    max_tokens: Annotated[int, Field(ge=1, le=10_000_000)] = 4_000
    max_tool_calls: Annotated[int, Field(ge=0, le=10_000)] = 10
    timeout_seconds: Annotated[int, Field(ge=1, le=86_400)] = 120
    model_tier: Annotated[int, Field(ge=0, le=2)] | None = None
    budget_usd: Annotated[Decimal, Field(gt=0, le=1_000_000, decimal_places=6)] | None = None
    tools: Annotated[tuple[Word, ...], Field(max_length=MAX_TOOLS)] | None = None


@dataclass(frozen=True, slots=True)
class Authority:
    """What a task may use; None means no limit."""

    tools: frozenset[str] | None = None
    agents: frozenset[str] | None = None

    def narrowed(self, *, tools: Set[str] | None, agents: Set[str] | None, assignee: str) -> Authority:
        """The authority of a task below this one; raises AuthorityExceeded that names every missing grant."""
        missing = [f"the tool '{name}'" for name in sorted(_beyond(self.tools, tools))]
        missing += [f"the agent '{slug}'" for slug in sorted(_beyond(self.agents, {*(agents or ()), assignee}))]
        if missing:
            raise AuthorityExceeded(missing)
        return Authority(
            tools=self.tools if tools is None else frozenset(tools),
            agents=self.agents if agents is None else frozenset(agents),
        )


def _beyond(granted: frozenset[str] | None, asked: Set[str] | None) -> Set[str]:
    return frozenset() if granted is None or asked is None else frozenset(asked - granted)


def check_chain(chain: Sequence[str], assignee: str) -> int:
    """The depth of a task at the end of this chain of agents, which starts with the originating one."""
    whole = [*chain, assignee]
    if assignee in chain:
        raise CycleDetected(whole, "The work would come back to an agent that is waiting for it", _ANOTHER)
    if len(chain) > MAX_DEPTH:
        raise DelegationDepthExceeded(whole, MAX_DEPTH)
    return len(chain)


def check_askers(askers: Sequence[str], chain: Sequence[str], assignee: str) -> None:
    """`askers` wait for the answer that the work at the beginning of this chain is for."""
    if assignee in askers:
        whole = [*askers[askers.index(assignee) :], *chain, assignee]
        raise CycleDetected(whole, "The work would come back to an agent that waits for the answer", _ANOTHER)


def parse_task(fields: dict[str, Any]) -> TaskSpec:
    """Raises InvalidInput that names every wrong field."""
    try:
        return TaskSpec.model_validate(fields)
    except ValidationError as error:
        problems = problems_of(error)
        for problem in problems:
            if REFERENCE in problem["message"]:
                problem["message"] = "must be a reference: artifact:…, memory:…, file:…, task:…, http://… or https://…"
        raise InvalidInput("; ".join(f"{found['path']}: {found['message']}" for found in problems), problems) from None
