"""Pages followed to the end, in both directions and under every order, give every row once."""

from __future__ import annotations

import pytest

from tests.fixtures.graph import Graph
from tests.fixtures.operations import AGENT_ORDERS

pytestmark = pytest.mark.asyncio(loop_scope="session")
ORDERS = [
    None,
    *[[{"field": field, "direction": way}] for field in AGENT_ORDERS for way in ("ASC", "DESC")],
    [{"field": "MODEL_TIER", "direction": "DESC"}, {"field": "ARCHIVED_AT"}, {"field": "NAME", "direction": "DESC"}],
    [{"field": "CUSTOM_TYPE", "direction": "DESC"}, {"field": "ARCHIVED_AT", "direction": "DESC"}],
    [{"field": "STATUS"}, {"field": "CUSTOM_TYPE"}, {"field": "CREATED_AT", "direction": "DESC"}],
]
FORWARD = """query ($by: [AgentOrder!], $at: Cursor, $where: AgentFilter) {
  agents(first: 7, after: $at, orderBy: $by, where: $where) { nodes { slug } pageInfo { hasNextPage endCursor } } }"""
BACKWARD = """query ($by: [AgentOrder!], $at: Cursor, $where: AgentFilter) {
  agents(last: 7, before: $at, orderBy: $by, where: $where) { nodes { slug } pageInfo { hasPreviousPage startCursor } }
}"""
WHOLE = """query ($by: [AgentOrder!], $where: AgentFilter) {
  agents(first: 100, orderBy: $by, where: $where) { nodes { slug } } }"""


@pytest.mark.parametrize("where", [None, {"status": {"ne": "PAUSED"}}])
@pytest.mark.parametrize("by", ORDERS)
async def test_pages_join_to_the_whole_list(graph: Graph, by: list[dict[str, str]] | None, where: dict | None) -> None:
    whole = [node["slug"] for node in (await graph.ask(WHOLE, {"by": by, "where": where}))["data"]["agents"]["nodes"]]
    assert len(set(whole)) == (60 if where is None else 43)

    forward = await graph.followed(FORWARD, {"by": by, "where": where}, backward=False)
    backward = await graph.followed(BACKWARD, {"by": by, "where": where}, backward=True)

    assert forward == whole
    assert backward == whole


@pytest.mark.asyncio(loop_scope="function")
async def test_a_row_that_moved_away_leaves_its_cursor_usable(own_graph: Graph) -> None:
    by = [{"field": "NAME"}]
    first = (await own_graph.ask(FORWARD, {"by": by}))["data"]["agents"]
    rest = await own_graph.ask(FORWARD, {"by": by, "at": first["pageInfo"]["endCursor"]})
    gone = first["nodes"][-1]["slug"]

    async with own_graph.database.engine.begin() as connection:
        await connection.exec_driver_sql(f"update agent set name = 'zzz' where slug = '{gone}'")

    again = await own_graph.ask(FORWARD, {"by": by, "at": first["pageInfo"]["endCursor"]})
    assert again == rest
