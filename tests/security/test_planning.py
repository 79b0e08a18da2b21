"""Attacks by what it takes to read and to plan a document."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from typing import Any

from graphql import get_introspection_query

from app.ids import Prefix, new_id, to_global
from tests.fixtures.attack import MAX_REQUEST_CPU_S, Target

WHOLE_TYPE = (
    "name kind description fields { name description args { name type { name ofType { name } } } "
    "type { name ofType { name ofType { name } } } } enumValues { name }"
)
CONDITIONS = {"or": [{"slug": {"eq": f"a{number}", "ne": "b"}} for number in range(49)]}
FILTERED = (
    "query ($w: AgentFilter) { "
    + " ".join(f"a{n}: agents(where: $w) {{ nodes {{ id }} totalCount aggregates {{ count }} }}" for n in range(20))
    + " }"
)


def varied(query: str) -> Iterator[dict[str, Any]]:
    """The same query under ever new names, so that no cache knows it."""
    return ({"query": query.replace("{", f"query Q{number} {{", 1)} for number in count())


async def test_aliased_introspection(target: Target) -> None:
    query = "{ __schema { " + " ".join(f"a{n}: types {{ {WHOLE_TYPE} }}" for n in range(46)) + " } }"

    answer, cpu_s = await target.cost(query)

    refusal = answer.json()["errors"][0]["extensions"]
    assert (refusal["code"], refusal["limit"]) == ("LIMIT_EXCEEDED", "introspectionValues")
    assert refusal["setting"] == "PARLEY_MAX_INTROSPECTION_VALUES"
    assert cpu_s < MAX_REQUEST_CPU_S
    async with target.watched():
        answers = await target.flood(varied(query))
    assert set(answers) <= {"LIMIT_EXCEEDED", "RATE_LIMITED"}


async def test_introspection_of_everything_under_ever_new_names(target: Target) -> None:
    query = get_introspection_query().removeprefix("\n").replace("query IntrospectionQuery ", "", 1).strip()

    answer, cpu_s = await target.cost(query)

    assert len(answer.json()["data"]["__schema"]["types"]) > 500
    assert cpu_s < MAX_REQUEST_CPU_S
    async with target.watched():
        answers = await target.flood(varied(query))
    assert answers["ok"] > 0


async def test_aliased_nodes(target: Target) -> None:
    ids = [to_global(prefix, new_id()) for prefix in Prefix]
    query = "{ " + " ".join(f'a{n}: node(id: "{ids[n]}") {{ id __typename }}' for n in range(20)) + " }"

    answer, cpu_s = await target.cost(query)

    assert answer.json()["data"]["a0"] is None
    assert cpu_s < MAX_REQUEST_CPU_S
    async with target.watched():
        await target.flood(varied(query))


async def test_nodes_of_every_type(target: Target) -> None:
    ids = [to_global(prefix, new_id()) for prefix in Prefix]
    query = "query ($ids: [ID!]!) { " + " ".join(f"a{n}: nodes(ids: $ids) {{ id }}" for n in range(20)) + " }"

    answer, cpu_s = await target.cost(query, {"ids": ids})

    assert answer.json()["errors"][0]["extensions"]["limit"] == "planParts"
    assert cpu_s < MAX_REQUEST_CPU_S


async def test_filters_with_many_conditions(target: Target) -> None:
    answer, cpu_s = await target.cost(FILTERED, {"w": CONDITIONS})

    refusal = answer.json()["errors"][0]["extensions"]
    assert (refusal["limit"], refusal["setting"]) == ("planParts", "PARLEY_MAX_PLAN_PARTS")
    assert cpu_s < MAX_REQUEST_CPU_S
    async with target.watched():
        requests = (
            {"query": FILTERED.replace("query ", f"query Q{n} "), "variables": {"w": CONDITIONS}} for n in count()
        )
        await target.flood(requests)


async def test_ever_new_documents_use_up_the_planning_time_of_their_key(target: Target) -> None:
    columns = "id slug name tagline role status type tools modelTier runtime version createdAt updatedAt"
    query = "{ " + " ".join(f"a{n}: agents(first: 2) {{ nodes {{ {columns} }} totalCount }}" for n in range(20)) + " }"

    async with target.watched():
        answers = await target.flood(varied(query))

    assert set(answers) <= {"ok", "RATE_LIMITED"}
    assert answers["ok"] > 0


async def test_many_values_in_the_variables(target: Target) -> None:
    query = "query ($w: [AgentFilter!]) { agents(where: {or: $w}) { totalCount } }"
    variables = {"w": [{"slug": {"in": ["a"] * 190}} for _ in range(50)]}

    _, cpu_s = await target.cost(query, variables)

    assert cpu_s < MAX_REQUEST_CPU_S
    async with target.watched():
        await target.flood(iter(lambda: {"query": query, "variables": variables}, None))


async def test_long_value_in_many_places(target: Target) -> None:
    """One variable of a megabyte in a thousand conditions would make a statement of a gigabyte."""
    conditions = " ".join("{slug: {eq: $t}}" for _ in range(90))
    query = f"query ($t: String!) {{ a: agents(where: {{or: [{conditions}]}}) {{ totalCount nodes {{ id }} }} }}"

    answer, cpu_s = await target.cost(query, {"t": "x" * 900_000})

    assert answer.json()["errors"][0]["extensions"]["limit"] == "argumentChars"
    assert cpu_s < MAX_REQUEST_CPU_S
