"""What an operation may cost, known from its plan before it runs: about one point for each row it may return."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from graphql_schema.planner.arguments import Variables

Times = Callable[[Variables], int]


def once(_: Variables) -> int:
    return 1


@dataclass(slots=True)
class Cost:
    """`own` points, plus `each` and the children's for each of up to `times` rows."""

    own: int = 0
    times: Times = once
    each: int = 0
    children: list[Cost] = field(default_factory=list)

    def total(self, variables: Variables) -> int:
        """Raises InvalidArgument when the number of rows that is asked for is out of bounds."""
        return self.own + self.times(variables) * (self.each + sum(child.total(variables) for child in self.children))

    def add(self, own: int = 1, times: Times = once, each: int = 0) -> Cost:
        child = Cost(own, times, each)
        self.children.append(child)
        return child
