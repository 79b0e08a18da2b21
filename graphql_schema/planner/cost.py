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
    """`own` points, plus `each` and the children's for each of up to `times` rows. `values` are the fields of a row."""

    own: int = 0
    times: Times = once
    each: int = 0
    children: list[Cost] = field(default_factory=list)
    values: int = 0

    def total(self, variables: Variables) -> int:
        """Raises InvalidArgument when the number of rows that is asked for is out of bounds."""
        return self.own + self.times(variables) * (self.each + sum(child.total(variables) for child in self.children))

    def total_values(self, variables: Variables) -> int:
        """How many values the answer may have."""
        inner = sum(child.total_values(variables) for child in self.children)
        return self.times(variables) * (self.values + inner)

    def add(self, own: int = 1, times: Times = once, each: int = 0) -> Cost:
        child = Cost(own, times, each)
        self.children.append(child)
        return child
