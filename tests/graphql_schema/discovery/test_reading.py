"""How discovery is read: in one statement where SQL can say it, in a few where Python ranks, and never unpaid."""

from __future__ import annotations

import pytest

from graphql_schema.planner.errors import TooCostly
from graphql_schema.planner.plan import Plan
from tests.fixtures.graph import Graph
from tests.graphql_schema.discovery.conftest import AVAILABILITY, EXPERTS, RECORD

pytestmark = pytest.mark.asyncio(loop_scope="session")


DEEP = "subtasks(first: 100) { nodes { subtasks(first: 100) { nodes { id } } } } }"


async def test_lists_take_one_statement_a_level_and_both_exits_agree(graph: Graph) -> None:
    record = RECORD.replace("since", "")
    figures = f"{{ agents(first: 50) {{ nodes {{ slug {AVAILABILITY} trackRecord {{ {record} }} }} }} }}"

    assert graph.is_planned(figures)
    assert await graph.statements(figures) == 1
    assert await graph.ask(figures) == await graph.ask(figures, feeding=True)
    skill = (await graph.ask("{ agents(first: 100) { nodes { skills { name } } } }"))["data"]["agents"]["nodes"]
    name = next(agent["skills"][0]["name"] for agent in skill if agent["skills"])
    many = {"skills": [name], "first": 50}
    found = (await graph.ask(EXPERTS, many))["data"]["findExperts"]
    assert len(found) > 3
    few = await graph.statements(EXPERTS, {"skills": [name], "first": 1})
    assert await graph.statements(EXPERTS, many) == few


async def test_what_is_read_of_experts_is_paid_for(graph: Graph) -> None:
    page = '{ findExperts(requiredSkills: ["x"]%s) { agent { tasks(first: 100) { nodes { id } } } } }'

    def cost(first: str) -> int:
        return graph.executor.cost(graph.operation(page % first), graph.seed.admin)

    assert cost(", first: 50") - cost("") == 40 * 102
    assert cost("") > 10 * 102
    with pytest.raises(TooCostly):
        graph.executor.cost(graph.operation((page % "").replace("id }", DEEP)), graph.seed.admin)


async def test_figures_that_nobody_asks_for_are_not_computed(graph: Graph) -> None:
    operation = graph.operation("{ agents { nodes { trackRecord { successShare } } } }")
    graph.executor.cost(operation, graph.seed.admin)
    plan: Plan = operation.prepared.plan

    explained = await graph.database.fetch(f"explain {plan.sql}", *plan.arguments(graph.seed.admin, {}))

    text = "\n".join(row[0] for row in explained)
    assert " on task " in text
    assert "routing" not in text
    assert "task_attempt" not in text
