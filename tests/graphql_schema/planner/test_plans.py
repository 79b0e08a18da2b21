"""Plans: one statement each, a cost known before they run, kept within bounds, stopped when they take too long."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from app.auth.roles import Role
from app.ids import Prefix
from graphql_schema.planner.cache import MOST_PLANS, PlanCache
from tests.fixtures.graph import Graph, Seed, graph_over
from tests.fixtures.operations import CORPUS
from tests.fixtures.reference import Reference, comparable

pytestmark = pytest.mark.asyncio(loop_scope="session")
NESTED = "{ agents(first: 10) { nodes { skills { name } team { agents(first: 5) { nodes { id } totalCount } } } } }"
HEAVY = "agents(first: 100) { nodes { team { %s } } }"
KEYED = "key { agent { name slug } }"
SORTED = "orderBy: {field: VERSION_PERCENTILE, p: 0.5}, having: {version: {percentile: {p: 0.9, gt: 1}}}"
CREATE = """mutation ($input: CreateAgentInput!) { createAgent(input: $input) {
  ... on AgentPayload { eventCursor agent { slug team { slug agents(first: 100) { nodes { slug } totalCount } } } }
  ... on Refusal { code } } }"""


async def test_every_planned_operation_of_the_corpus_is_one_statement(graph: Graph) -> None:
    for theme, text, variables in CORPUS:
        if theme != "python":
            assert await graph.statements(text, variables) == 1, text


async def test_fields_that_need_python_add_one_statement_a_root_field(graph: Graph) -> None:
    text = "{ team { slug featureFlags { flag } } agents(first: 5) { nodes { slug team { name } } } viewer { name } }"

    assert await graph.statements(text) == 1 + 3  # is the key alive, and a statement for each root field


@pytest.mark.asyncio(loop_scope="function")
async def test_the_entity_of_a_mutation_is_read_by_one_statement(own_graph: Graph) -> None:
    before = own_graph.database.statements

    answer = await own_graph.ask(CREATE, {"input": {"slug": "new", "name": "New"}})

    created = answer["data"]["createAgent"]["agent"]
    assert created["slug"] == "new"
    assert created["team"]["agents"]["totalCount"] == 61
    assert own_graph.database.statements - before == 1


@pytest.mark.parametrize(
    ("payload", "role", "code"),
    [
        ("agent { team { agents(first: 100) { nodes { id } } } }", Role.ADMIN, "COST_LIMIT_EXCEEDED"),
        ("agent { team { agents(first: 0) { totalCount } } }", Role.ADMIN, "INVALID_ARGUMENT"),
        ('agent { team { agents(first: 1, after: "x") { nodes { id } } } }', Role.ADMIN, "INVALID_CURSOR"),
        ("agent { team { apiKeys { totalCount } } }", Role.INTEGRATOR, "FORBIDDEN"),
    ],
)
@pytest.mark.asyncio(loop_scope="function")
async def test_a_mutation_whose_payload_will_be_refused_does_not_happen(
    own_graph: Graph, redis_url: str, payload: str, role: Role, code: str
) -> None:
    text = f'mutation {{ createAgent(input: {{slug: "new", name: "New"}}) {{ ... on AgentPayload {{ {payload} }} }} }}'
    async with graph_over(own_graph.database.url, redis_url, own_graph.seed, max_cost=100) as strict:
        answer = await strict.ask(text, by=own_graph.seed.principals[role])
        made = await strict.ask('{ agent(slug: "new") { id } }')

    assert [error["extensions"]["code"] for error in answer["errors"]] == [code]
    assert made == {"data": {"agent": None}}


@pytest.mark.asyncio(loop_scope="function")
async def test_who_may_not_call_a_mutation_is_told_so_as_data(own_graph: Graph) -> None:
    text = """mutation { createAgent(input: {slug: "new", name: "New"}) {
      ... on AgentPayload { agent { team { apiKeys { totalCount } } } } ... on Forbidden { code } } }"""

    answer = await own_graph.ask(text, by=own_graph.seed.principals[Role.ANALYST])

    assert answer == {"data": {"createAgent": {"code": "FORBIDDEN"}}}


@pytest.mark.parametrize(
    ("text", "cost"),
    [
        ("{ __typename }", 1),
        ("{ team { slug } }", 1),
        ("{ team { slug } viewer { name } __typename }", 2),
        ("{ agents { nodes { id } } }", 1 + 25),
        ("{ agents(first: 10) { nodes { id } edges { cursor } pageInfo { endCursor } } }", 1 + 10),
        ("{ agents(first: 10) { totalCount } }", 1 + 5),
        ("{ agents(first: 10) { nodes { team { slug } } } }", 1 + 10 * (1 + 1)),
        ("{ agents(first: 10) { nodes { skills { name } } } }", 1 + 10 * (1 + 5)),
        (NESTED, 1 + 10 * (1 + 5 + (1 + (1 + 5) + 5))),
        ("{ agents { aggregates { count } } }", 1 + 20),
        ("{ agents { groupedAggregates(groupBy: STATUS) { groups { count } } } }", 1 + 25 + 25),
        ("{ agents { groupedAggregates(groupBy: STATUS, first: 1000) { groups { count } } } }", 1 + 25 + 1000),
        (
            f"{{ events {{ groupedAggregates(groupBy: AGENT, first: 10) {{ groups {{ {KEYED} }} }} }} }}",
            1 + 25 + 10 * (1 + 1),
        ),
        ("{ agents { aggregates { version { percentile(p: 0.5) b: percentile(p: 0.9) } } } }", 1 + 20 + 2 * 5),
        (f"{{ agents {{ groupedAggregates(groupBy: TYPE, {SORTED}) {{ totalCount }} }} }}", 1 + 25 + 5 + 5 + 25),
        ("{ nodes(ids: []) { id } }", 1),
        (f'{{ nodes(ids: ["agent_{"0" * 32}", "agent_{"1" * 32}"]) {{ id }} }}', 2),
    ],
)
async def test_the_cost_is_known_before_the_operation_runs(graph: Graph, text: str, cost: int) -> None:
    before = graph.database.statements

    costs = [executor.cost(graph.operation(text), graph.seed.admin) for executor in (graph.executor, graph.feeding)]

    assert costs == [cost, cost]
    assert graph.database.statements == before


async def test_both_exits_cost_the_same_over_the_corpus(graph: Graph) -> None:
    for theme, text, variables in CORPUS:
        if theme != "python":
            whole, fed = (
                executor.cost(graph.operation(text, variables), graph.seed.admin)
                for executor in (graph.executor, graph.feeding)
            )
            assert whole == fed, text


async def test_the_size_of_a_page_in_a_variable_counts_in_the_cost(graph: Graph) -> None:
    text = "query ($n: Int) { agents(first: $n) { nodes { id } } }"

    costs = [graph.executor.cost(graph.operation(text, {"n": n}), graph.seed.admin) for n in (1, 50, None)]

    assert costs == [2, 51, 26]


async def test_what_would_cost_too_much_is_refused_with_its_numbers(seeded: tuple[str, Seed], valkey: Any) -> None:
    url, seed = seeded
    async with graph_over(url, valkey.url(), seed, max_cost=100) as strict:
        error = await strict.refusal(NESTED)

        assert error["extensions"] == {"code": "COST_LIMIT_EXCEEDED", "limit": "cost", "value": 181, "maximum": 100,
                                       "setting": "PARLEY_MAX_COST"}  # fmt: skip
        assert "181" in error["message"]
        assert strict.database.statements == 0


async def test_a_statement_that_takes_too_long_is_a_typed_refusal(seeded: tuple[str, Seed], valkey: Any) -> None:
    url, seed = seeded
    text = "{ " + HEAVY % (HEAVY % (HEAVY % ("agents(first: 100) { nodes { id } }"))) + " }"
    async with graph_over(url, valkey.url(), seed, read_timeout_ms=150, max_cost=10**9) as hurried:
        answer = await hurried.run(text)

        assert answer.status == 504
        assert b'"code":"TIMEOUT"' in answer.body
        assert await hurried.ask("{ team { slug } }") == {"data": {"team": {"slug": "first"}}}


async def test_slow_groups_are_stopped_and_their_connection_is_free_again(
    seeded: tuple[str, Seed], valkey: Any
) -> None:
    url, seed = seeded
    groups = "groupedAggregates(groupBy: [TYPE, CREATED_AT_HOUR]) { groups { version { percentile(p: 0.5) } } }"
    many = " ".join(f"a{number}: agents {{ {groups} }}" for number in range(12))
    text = "{ " + HEAVY % (HEAVY % many) + " }"
    async with graph_over(url, valkey.url(), seed, read_timeout_ms=150, read_pool_size=1) as hurried:
        backend = await hurried.database.fetchval("select pg_backend_pid()")
        for feeding in (False, True):
            answer = await hurried.run(text, feeding=feeding)

            assert b'"code":"TIMEOUT"' in answer.body
            assert b"Ask for less, or add a filter." in answer.body
        assert await hurried.database.fetchval("select pg_backend_pid()") == backend
        assert await hurried.ask("{ team { slug } }") == {"data": {"team": {"slug": "first"}}}


async def test_operations_of_one_document_do_not_share_plans(graph: Graph, reference: Reference) -> None:
    text = """query A { agents(first: 1) { nodes { id } } team { featureFlags { flag } } }
      query B { agents(first: 2) { nodes { slug } } team { featureFlags { enabled } } }"""

    for name in ("A", "B", "A"):
        expected = comparable(reference.answer(text, {}, graph.seed.admin, name))
        assert comparable(await graph.ask(text, name=name)) == expected
        assert comparable(await graph.ask(text, name=name, feeding=True)) == expected


async def test_a_plan_is_made_once_for_a_shape_of_the_variables(graph: Graph) -> None:
    text = "query ($w: AgentFilter, $n: Int) { agents(where: $w, first: $n) { nodes { slug } # shapes\n } }"

    for variables in ({"w": {"name": {"eq": "a"}}, "n": 1}, {"w": {"name": {"eq": "b"}}, "n": 2}):
        await graph.ask(text, variables)
    assert graph.plans_of(text) == 1

    await graph.ask(text, {"w": {"name": {"ne": "a"}}, "n": 1})
    await graph.ask(text, {"w": {"name": {"eq": "a"}}, "n": 1}, by=graph.seed.principals[Role.ANALYST])
    assert graph.plans_of(text) == 3


async def test_a_document_keeps_a_bounded_number_of_plans(graph: Graph) -> None:
    text = "query ($w: AgentFilter) { agents(where: $w) { totalCount # bounded\n } }"

    for count in range(MOST_PLANS + 10):
        await graph.ask(text, {"w": {"and": [{"name": {"ne": "a"}}] * count}})

    assert MOST_PLANS - 1 <= graph.plans_of(text) <= MOST_PLANS


async def test_all_documents_together_keep_a_bounded_size_of_plans() -> None:
    cache, documents = PlanCache(most_chars=50_000), [{} for _ in range(100)]

    for number, plans in enumerate(documents):
        cache.put(plans, number, SimpleNamespace(size=9_000))

    kept = [number for number, plans in enumerate(documents) if plans]
    assert kept == [96, 97, 98, 99]


async def test_nodes_are_read_by_id_in_their_order(graph: Graph, reference: Reference) -> None:
    seed, other = graph.seed, graph.seed.other_agents[0]
    ids = [
        seed.id(Prefix.AGENT, seed.agents[0]), seed.id(Prefix.HANDOFF_RULE, seed.rules[0]),
        seed.id(Prefix.EVENT, seed.events[5]), seed.id(Prefix.TEAM, seed.team), seed.id(Prefix.TEAM, seed.other_team),
        seed.id(Prefix.AGENT, other), seed.id(Prefix.AGENT, seed.team), seed.id(Prefix.API_KEY, seed.admin.key_id),
        seed.id(Prefix.AGENT, seed.agents[0]),
    ]  # fmt: skip
    text = """query ($ids: [ID!]!, $id: ID!) {
      node(id: $id) { __typename id ... on Agent { slug team { slug } } }
      nodes(ids: $ids) { __typename id ... on Agent { slug skills { name } }
        ... on Team { name agents(first: 1) { totalCount } } ... on ApiKey { name } ... on Event { kind } ...R } }
      fragment R on HandoffRule { priority fromAgent { slug } }"""
    for by in (seed.admin, seed.principals[Role.ANALYST], seed.other):
        for one in ids[:6]:
            expected = comparable(reference.answer(text, {"ids": ids, "id": one}, by))
            assert comparable(await graph.ask(text, {"ids": ids, "id": one}, by=by)) == expected
            assert comparable(await graph.ask(text, {"ids": ids, "id": one}, by=by, feeding=True)) == expected


async def test_ids_of_a_list_may_be_literals_variables_or_none(graph: Graph, reference: Reference) -> None:
    one, two = (graph.seed.id(Prefix.AGENT, key) for key in graph.seed.agents[:2])
    parts = (f'a: nodes(ids: ["{one}", $b]) {{ id }}', f'c: nodes(ids: "{one}") {{ id }}', "d: nodes(ids: []) { id }")
    text = f"query ($b: ID!) {{ {' '.join(parts)} }}"

    expected = comparable(reference.answer(text, {"b": two}, graph.seed.admin))

    assert comparable(await graph.ask(text, {"b": two})) == expected
    assert comparable(await graph.ask(text, {"b": two}, feeding=True)) == expected


async def test_a_key_that_was_revoked_reads_nothing(graph: Graph) -> None:
    for text in ("{ team { slug } }", "{ team { featureFlags { flag } } }"):
        assert (await graph.refusal(text, by=graph.seed.revoked))["extensions"]["code"] == "UNAUTHENTICATED"


async def test_each_team_sees_its_own(graph: Graph, reference: Reference) -> None:
    text = """{ team { slug defaultAgent { slug } apiKeys { totalCount } handoffRules { totalCount } }
      agents { totalCount nodes { slug } aggregates { count } groupedAggregates(groupBy: STATUS) { groups { count } } }
      events { totalCount } viewer { name } }"""

    for by in (graph.seed.admin, graph.seed.other):
        assert comparable(await graph.ask(text, by=by)) == comparable(reference.answer(text, {}, by))


async def test_one_document_reads_nodes_of_whatever_type_its_variables_name(graph: Graph) -> None:
    text = "query ($id: ID!, $ids: [ID!]!) { node(id: $id) { __typename id } nodes(ids: $ids) { __typename id } }"
    ids = await graph.ask("{ team { id } agents(first: 1) { nodes { id } } }")
    team, agent = ids["data"]["team"]["id"], ids["data"]["agents"]["nodes"][0]["id"]

    for first, others in ((team, [agent]), (agent, [team, agent]), (agent, [agent]), (team, [agent, team])):
        data = (await graph.ask(text, {"id": first, "ids": others}))["data"]

        assert data["node"]["id"] == first
        assert [node["id"] for node in data["nodes"]] == others
