"""What an operation may cost, known from its plan before it runs: about one point for each row it may return."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from graphql_schema.planner.arguments import Variables


@dataclass(slots=True)
class Cost:
    """`own` points, plus the children's for each of up to `times` rows."""

    own: int = 0
    times: Callable[[Variables], int] | None = None
    children: list[Cost] = field(default_factory=list)

    def total(self, variables: Variables) -> int:
        inner = sum(child.total(variables) for child in self.children)
        rows = self.times(variables) if self.times else 1
        return self.own + rows * (inner + (1 if self.times else 0))

    def add(self, own: int = 1, times: Callable[[Variables], int] | None = None) -> Cost:
        child = Cost(own, times)
        self.children.append(child)
        return child
