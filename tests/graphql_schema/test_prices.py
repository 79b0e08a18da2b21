"""What costs CPU or rows is paid for, and what would cost too much is refused before it runs."""

from __future__ import annotations

import pytest

from graphql_schema.planner.filter_compiler import LONG_TEXT_COST, TEXT_COST
from graphql_schema.planner.plan import MUTATION_COST
from graphql_schema.transport.intake import REFUSED_POINTS
from tests.fixtures.parley import Parley

STREAMS = ("teamEvents", 'agentEvents(agentId: "x")', 'taskEvents(taskId: "x")', 'agentTaskEvents(agentId: "x")')
NESTED = "agents(first: 100) { nodes { team { %s } } }"


async def spent(parley: Parley, query: str) -> int:
    """Points that a query costs, told by the header of the one after it."""
    before = int((await parley.post("{ __typename }")).headers["ratelimit"].split("r=")[1].split(";")[0])
    await parley.post(query)
    after = int((await parley.post("{ __typename }")).headers["ratelimit"].split("r=")[1].split(";")[0])
    return before - after - 1


async def test_subscription_that_reads_too_much_for_each_event_is_refused(parley: Parley) -> None:
    huge = "agent { team { " + NESTED % (NESTED % "id") + " } }"
    headers = {"Authorization": f"Bearer {next(iter(parley.home.secrets.values()))}", "Accept": "text/event-stream"}

    for stream in STREAMS:
        query = "subscription { " + stream + " { ... on Event { " + huge + " } } }"
        answer = await parley.client.post("/graphql", json={"query": query}, headers=headers)

        assert "COST_LIMIT_EXCEEDED" in answer.text, stream


async def test_bad_argument_in_a_subscription_is_refused_when_it_is_opened(parley: Parley) -> None:
    query = "subscription { teamEvents { ... on Event { agent { team { agents(first: 0) { totalCount } } } } } }"
    headers = {"Authorization": f"Bearer {next(iter(parley.home.secrets.values()))}", "Accept": "text/event-stream"}

    answer = await parley.client.post("/graphql", json={"query": query}, headers=headers)

    assert "INVALID_ARGUMENT" in answer.text


@pytest.mark.parametrize(
    ("query", "cost"),
    [
        ("{ __schema { queryType { name } } }", 1),
        ("{ __schema { types { name kind description } } }", 36),
        ("{ agents(first: 50, where: {name: {contains: \"y\"}}) { nodes { id } } }", 51 + TEXT_COST),
        ("{ agents(first: 50, where: {personality: {contains: \"y\"}}) { nodes { id } }}", 51 + LONG_TEXT_COST),
        ("{ agents(first: 50) { nodes { id } } }", 51),
        ("{ agents(first: 0) { nodes { id } } }", REFUSED_POINTS),
        ("mutation { ...F ...G } fragment F on Mutation { a: pauseAgent(input: {agentId: \"x\"}) { __typename } } "
         "fragment G on Mutation { b: pauseAgent(input: {agentId: \"x\"}) { __typename } }", 2 * MUTATION_COST),
    ],
)  # fmt: skip
async def test_price(parley: Parley, query: str, cost: int) -> None:
    assert await spent(parley, query) == cost


async def test_payload_that_reads_too_much_is_refused_and_nothing_happens(parley: Parley) -> None:
    huge = "team { " + NESTED % (NESTED % (NESTED % "id")) + " }"
    payload = "... on AgentPayload { agent { " + huge + " } }"
    query = "mutation ($id: ID!) { pauseAgent(input: {agentId: $id}) { " + payload + " } }"

    errors = await parley.errors(query, {"id": parley.home.agent_id})

    assert errors[0]["extensions"]["code"] == "COST_LIMIT_EXCEEDED"
    assert (await parley.run('{ agent(slug: "luke") { status } }'))["agent"]["status"] == "ACTIVE"
