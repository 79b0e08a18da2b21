"""Who may delegate to whom: the chain of agents, and authority that only narrows."""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass

from app.tasks.errors import AuthorityExceeded, CycleDetected, DelegationDepthExceeded
from app.tasks.models import MAX_DEPTH

_ANOTHER = "Ask an agent outside this chain, or do the work here."


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


def check_chain(chain: Sequence[str], assignee: str) -> None:
    """Raises CycleDetected or DelegationDepthExceeded for a task at the end of this chain of agents, which starts with
    the originating one."""
    whole = [*chain, assignee]
    if assignee in chain:
        raise CycleDetected(whole, "The work would come back to an agent that is waiting for it", _ANOTHER)
    if len(chain) > MAX_DEPTH:
        raise DelegationDepthExceeded(whole, MAX_DEPTH)


def check_askers(askers: Sequence[str], chain: Sequence[str], assignee: str) -> None:
    """`askers` wait for the answer that the work at the beginning of this chain is for."""
    if assignee in askers:
        whole = [*askers[askers.index(assignee) :], *chain, assignee]
        raise CycleDetected(whole, "The work would come back to an agent that waits for the answer", _ANOTHER)
