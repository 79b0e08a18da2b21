"""The planner's own fixtures."""

from tests.fixtures.graph import graph, own_graph, reference, seeded

__all__ = ["graph", "own_graph", "reference", "seeded"]
