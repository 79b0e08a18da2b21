"""What the types allow and the planner does not is refused whole, by a code, through both exits alike."""

# ruff: noqa: E501  an operation a line reads best

from __future__ import annotations

import base64
import json
from typing import Any

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import update

from app.agents.models import Agent
from app.auth.roles import Role
from tests.fixtures.graph import Graph

pytestmark = pytest.mark.asyncio(loop_scope="session")
PAGE = "query ($first: Int, $last: Int, $after: Cursor, $before: Cursor) { agents(first: $first, last: $last, after: $after, before: $before) { nodes { id } } }"
FILTER = "query ($where: AgentFilter) { agents(where: $where) { totalCount nodes { id } } }"
CURSOR = "query ($after: Cursor, $by: [AgentOrder!]) { agents(first: 2, after: $after, orderBy: $by) { nodes { id } } }"
ORDERS = ("SLUG", "NAME", "STATUS", "MODEL_TIER", "CREATED_AT", "ARCHIVED_AT", "CUSTOM_TYPE")
NOT_STORABLE = ("a\0b", "\0", "\ud800", "x\udfffy")


def nested(depth: int) -> dict[str, Any]:
    return {"not": nested(depth - 1)} if depth else {"slug": {"eq": "a"}}


def literal(depth: int, condition: str = 'slug: {eq: "a"}') -> str:
    return "{not: " * depth + "{" + condition + "}" + "}" * depth


def forged(*values: Any) -> str:
    return base64.urlsafe_b64encode(json.dumps(values).encode()).decode()


@pytest.mark.parametrize(
    ("text", "argument"),
    [
        ("{ agents(first: 0) { nodes { id } } }", "first"),
        ("{ agents(first: -1) { nodes { id } } }", "first"),
        ("{ agents(first: 101) { totalCount } }", "first"),
        ("{ agents(first: 10000) { nodes { id } } }", "first"),
        ("{ agents(first: 2147483647) { edges { cursor } } }", "first"),
        ("{ agents(last: 0) { nodes { id } } }", "last"),
        ("{ agents(last: 10000) { nodes { id } } }", "last"),
        ("{ agents(first: 1, last: 1) { nodes { id } } }", "last"),
        ('{ agents(first: 1, before: "x") { nodes { id } } }', "before"),
        ('{ agents(before: "x") { nodes { id } } }', "before"),
        ('{ agents(last: 1, after: "x") { nodes { id } } }', "after"),
        (f"{{ agents(where: {literal(100)}) {{ totalCount }} }}", "where"),
        (f"{{ agents(where: {literal(10)}) {{ totalCount }} }}", "where"),
        ("{ agents(where: {and: [" + "{}" * 101 + "]}) { totalCount } }", "where"),
        ("{ agents(orderBy: [{field: NAME}, {field: NAME, direction: DESC}]) { nodes { id } } }", "orderBy"),
        (
            "{ agents(orderBy: [{field: NAME}, {field: SLUG}, {field: TYPE}, {field: STATUS}, {field: VERSION}, "
            "{field: CREATED_AT}]) { nodes { id } } }",
            "orderBy",
        ),
        ("{ agents { groupedAggregates(groupBy: [STATUS, STATUS]) { groups { count } } } }", "groupBy"),
        ("{ agents { groupedAggregates(groupBy: []) { groups { count } } } }", "groupBy"),
        ("{ agents { groupedAggregates(groupBy: STATUS, first: 0) { groups { count } } } }", "first"),
        ("{ agents { groupedAggregates(groupBy: STATUS, first: 1001) { groups { count } } } }", "first"),
        *[
            (f"{{ agents {{ groupedAggregates(groupBy: STATUS, {asked}) {{ totalCount }} }} }}", argument)
            for asked, argument in (
                ("orderBy: {field: TYPE}", "orderBy"),
                ("orderBy: {field: VERSION_PERCENTILE}", "orderBy"),
                ("orderBy: {field: VERSION_MEAN, p: 0.5}", "orderBy"),
                ("orderBy: {field: VERSION_PERCENTILE, p: 1.5}", "p"),
                ("orderBy: [" + "{field: COUNT} " * 6 + "]", "orderBy"),
                ("having: {version: {percentile: {p: -1, gt: 0}}}", "p"),
                (f"having: {literal(100, 'count: {gt: 1}')}", "having"),
                ("having: {or: [" + "{} " * 101 + "]}", "having"),
            )
        ],
        ("{ agents { aggregates { version { percentile(p: 2) } } } }", "p"),
        ("{ agents { aggregates { version { percentile(p: -0.1) } } } }", "p"),
        ("{ agents { aggregates { version { percentile(p: 1e400) } } } }", "p"),
        ("{ team { agents(first: 1) { nodes { team { agents(first: 500) { nodes { id } } } } } } }", "first"),
        ('{ agents(where: {createdAt: {gt: "0001-01-01T00:00:00+14:00"}}) { totalCount } }', "where"),
        ('{ agents(where: {createdAt: {lt: "9999-12-31T23:59:59-14:00"}}) { totalCount } }', "where"),
        ('{ agent(slug: "a\\u0000b") { id } }', "slug"),
        ('{ agents(where: {name: {contains: "\\u0000"}}) { totalCount } }', "where"),
    ],
)
async def test_literals_out_of_bounds_are_refused(graph: Graph, text: str, argument: str) -> None:
    error = await graph.refusal(text)

    assert error["extensions"] == {"code": "INVALID_ARGUMENT", "argument": argument}
    assert error["message"].startswith(f"Argument '{argument}': ")


@pytest.mark.parametrize(
    ("text", "variables", "argument"),
    [
        (PAGE, {"first": 0}, "first"),
        (PAGE, {"first": 2_147_483_647}, "first"),
        (PAGE, {"last": -2_147_483_648}, "last"),
        (PAGE, {"first": 1, "last": 1}, "last"),
        (PAGE, {"first": 1, "before": "x"}, "before"),
        (FILTER, {"where": nested(100)}, "where"),
        (FILTER, {"where": {"or": [{"slug": {"eq": "a"}}] * 101}}, "where"),
        (FILTER, {"where": {"name": {"in": ["a"] * 201}}}, "where"),
        (FILTER, {"where": {"status": {"notIn": ["ACTIVE"] * 201}}}, "where"),
        ("query ($n: Int = 5) { agents { groupedAggregates(groupBy: TYPE, first: $n) { groups { count } } } }", {"n": None}, "first"),
        ("query ($d: Direction = ASC) { agents(orderBy: {field: NAME, direction: $d}) { nodes { id } } }", {"d": None}, "direction"),
        ("query ($b: Boolean = true) { team { slug @include(if: $b) } }", {"b": None}, "if"),
        ('query ($s: String = "a") { agents(where: {name: {in: [$s]}}) { totalCount } }', {"s": None}, "String!"),
        ("query ($ids: [ID!]!) { nodes(ids: $ids) { id } }", {"ids": ["agent_" + "0" * 32] * 101}, "ids"),
        *[("query ($s: String!) { agent(slug: $s) { id } }", {"s": text}, "slug") for text in NOT_STORABLE],
        *[
            (FILTER, {"where": {"name": {how: value}}}, "where")
            for how, wrap in (("eq", str), ("startsWith", str), ("gt", str), ("in", lambda text: [text]))
            for value in map(wrap, NOT_STORABLE[::2])
        ],
        (FILTER, {"where": {"id": {"eq": "agent_\0"}}}, "where"),
        ("query ($id: ID!) { node(id: $id) { id } }", {"id": "\ud800"}, "id"),
        ("query ($ids: [ID!]!) { nodes(ids: $ids) { id } }", {"ids": ["\ud800"]}, "ids"),
    ],
)  # fmt: skip
async def test_variables_out_of_bounds_are_refused(
    graph: Graph, text: str, variables: dict[str, Any], argument: str
) -> None:
    error = await graph.refusal(text, variables)

    assert error["extensions"] == {"code": "INVALID_ARGUMENT", "argument": argument}


@pytest.mark.parametrize(
    "asked",
    [
        "groupedAggregates(groupBy: [SLUG]) { totalCount }",
        "groupedAggregates(groupBy: [CREATED_AT_YEAR]) { totalCount }",
        "groupedAggregates(groupBy: STATUS, having: {slug: {eq: 1}}) { totalCount }",
        "groupedAggregates(groupBy: STATUS, having: {createdAt: {mean: {gt: 1}}}) { totalCount }",
        "groupedAggregates(groupBy: STATUS, having: {version: {percentile: {gt: 1}}}) { totalCount }",
        "groupedAggregates(groupBy: STATUS, orderBy: {field: CREATED_AT_SUM}) { totalCount }",
        "aggregates { createdAt { percentile(p: 0.5) } }",
    ],
)
async def test_figures_and_keys_that_nothing_has_are_not_in_the_schema(graph: Graph, asked: str) -> None:
    errors = graph.documents.get(f"{{ agents {{ {asked} }} }}")

    assert isinstance(errors, list)
    assert {error.extensions["code"] for error in errors} == {"GRAPHQL_VALIDATION_FAILED"}


@pytest.mark.parametrize("p", [float("nan"), float("inf"), "0.5", True, 1.01])
async def test_a_percentile_that_is_no_share_is_refused(graph: Graph, p: Any) -> None:
    text = "query ($p: Float!) { agents { groupedAggregates(groupBy: TYPE) { groups { version { percentile(p: $p) } } } } }"

    error = await graph.refusal(text, {"p": p})

    assert error["extensions"]["code"] == ("INVALID_ARGUMENT" if p == 1.01 else "BAD_VARIABLES")


@pytest.mark.parametrize("distance", ["-P10000Y", "P3652500D", "-PT99999999999H", "-P101Y"])
async def test_an_interval_of_more_than_a_century_is_refused_with_the_reason(graph: Graph, distance: str) -> None:
    text = "query ($at: Moment!) { agents(where: {createdAt: {gte: $at}}) { totalCount } }"

    error = await graph.refusal(text, {"at": distance})

    assert "lies more than a century away" in error["message"]


@pytest.mark.asyncio(loop_scope="function")
async def test_text_is_never_a_pattern(own_graph: Graph) -> None:
    bomb, wildcards = "(a+)+$|(?:.*)*x{99}", "%_%_%_%" * 28
    async with own_graph.database.engine.begin() as connection:
        for slug, name in (("agent-37", f"the {bomb}"), ("agent-74", f"the {wildcards[:90]}"), ("agent-10", "a" * 100)):
            await connection.execute(update(Agent).where(Agent.slug == slug).values(name=name))

    for text, found in ((bomb, ["agent-37"]), (wildcards[:90], ["agent-74"]), ("a+", ["agent-37"]), (wildcards, [])):
        answer = await own_graph.ask("query ($t: String!) { agents(where: {name: {contains: $t}}) { nodes { slug } } }", {"t": text})  # fmt: skip
        assert [node["slug"] for node in answer["data"]["agents"]["nodes"]] == found, text


@pytest.mark.parametrize("first", [None, 1, 100])
async def test_page_sizes_within_bounds_and_null_are_taken(graph: Graph, first: int | None) -> None:
    answer = await graph.ask(PAGE, {"first": first})

    assert len(answer["data"]["agents"]["nodes"]) == {None: 25, 1: 1, 100: 60}[first]


async def test_conditions_count_once_however_many_figures_are_asked_for(graph: Graph) -> None:
    where = {"and": [{"slug": {"ne": f"s{n}"}} for n in range(48)]}

    answer = await graph.ask("query ($w: AgentFilter) { agents(where: $w) { nodes { id } totalCount aggregates { count } } }", {"w": where})  # fmt: skip

    assert answer["data"]["agents"]["totalCount"] == 60


@pytest.mark.parametrize(
    "variables",
    [
        {"first": 2_147_483_648},
        {"first": "1"},
        {"first": 1.5},
        {"first": float("inf")},
        {"first": float("nan")},
        {"first": True},
        {"first": [1]},
    ],
)
async def test_values_of_another_type_are_refused(graph: Graph, variables: dict[str, Any]) -> None:
    assert (await graph.refusal(PAGE, variables))["extensions"]["code"] == "BAD_VARIABLES"


async def test_texts_of_any_length_and_kind_are_compared(graph: Graph) -> None:
    for text in ("x" * 200, "\x01\x1f", "\U0010ffff", "\ufeff", "%" * 200, "\\"):
        answer = await graph.ask(FILTER, {"where": {"name": {"startsWith": text}}})

        assert answer["data"]["agents"]["totalCount"] == 0


@pytest.mark.parametrize("operator", ["contains", "startsWith"])
async def test_a_long_pattern_is_refused(graph: Graph, operator: str) -> None:
    error = await graph.refusal(FILTER, {"where": {"name": {operator: "x" * 201}}})

    assert error["extensions"]["code"] == "INVALID_ARGUMENT"
    assert "at most 200 characters, not 201" in error["message"]


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ('{ node(id: "nothing") { id } }', "id"),
        ('{ node(id: "") { id } }', "id"),
        ('{ node(id: "agent_12") { id } }', "id"),
        (f'{{ node(id: "wizard_{"0" * 32}") {{ id }} }}', "id"),
        (f'{{ nodes(ids: ["agent_{"0" * 32}", "agent_{"g" * 32}"]) {{ id }} }}', "ids.1"),
        (f'{{ agents(where: {{id: {{eq: "team_{"0" * 32}"}}}}) {{ totalCount }} }}', "id"),
        (f'{{ agents(where: {{id: {{in: ["team_{"0" * 32}"]}}}}) {{ totalCount }} }}', "id"),
        ("{ agents(where: {id: {ne: 7}}) { totalCount } }", "id"),
    ],
)
async def test_an_id_of_another_kind_is_a_typed_refusal(graph: Graph, text: str, path: str) -> None:
    error = await graph.refusal(text)

    assert error["extensions"]["code"] == "INVALID_INPUT"
    assert [problem["path"] for problem in error["extensions"]["problems"]] == [path]


MALFORMED = [
    "", "x", "====", "!!!", "é", "日本", "A" * 10_000, "\ud800", forged(), forged(1), forged(None, None), forged("id"),
    forged("id", None), forged("id", 7), forged("id", "no uuid"), forged("id", ["a"]), forged("id", "0" * 32, 1),
    base64.urlsafe_b64encode(b'{"a": 1}').decode(), base64.urlsafe_b64encode(b"[" * 5_000).decode(),
    base64.urlsafe_b64encode(b'["id", "\xff"]').decode(),
]  # fmt: skip


@pytest.mark.parametrize("cursor", MALFORMED)
async def test_malformed_cursors_are_refused(graph: Graph, cursor: str) -> None:
    error = await graph.refusal(CURSOR, {"after": cursor})

    assert error["extensions"] == {"code": "INVALID_CURSOR", "reason": "MALFORMED"}


@pytest.mark.parametrize(
    ("order", "value"),
    [
        ("NAME", 7), ("NAME", None), ("NAME", "a\0"), ("NAME", {}), ("MODEL_TIER", "1"), ("MODEL_TIER", 2**31),
        ("MODEL_TIER", 1.5), ("MODEL_TIER", True), ("VERSION", -(2**70)), ("CREATED_AT", "2026-01-01T00:00:00"),
        ("CREATED_AT", "0001-01-01T00:00:00+14:00"), ("CREATED_AT", 5), ("CREATED_AT", "yesterday"), ("CREATED_AT", None),
        ("ARCHIVED_AT", "nul"), ("STATUS", 1), ("CUSTOM_TYPE", False),
    ],
)  # fmt: skip
async def test_forged_values_in_a_cursor_are_refused(graph: Graph, order: str, value: Any) -> None:
    cursor = forged(f"{order.lower()},id", value, "0" * 32)

    error = await graph.refusal(CURSOR, {"after": cursor, "by": [{"field": order}]})

    assert error["extensions"] == {"code": "INVALID_CURSOR", "reason": "MALFORMED"}


async def test_a_cursor_of_another_order_is_refused(graph: Graph) -> None:
    text = "{ agents(first: 1, orderBy: {field: NAME}) { pageInfo { endCursor } } }"
    cursor = (await graph.ask(text))["data"]["agents"]["pageInfo"]["endCursor"]

    for by in (None, [{"field": "SLUG"}], [{"field": "NAME", "direction": "DESC"}]):
        error = await graph.refusal(CURSOR, {"after": cursor, "by": by})
        assert error["extensions"] == {"code": "INVALID_CURSOR", "reason": "OTHER_ORDER"}


@given(cut=st.integers(0, 200), junk=st.text(max_size=8), order=st.sampled_from(ORDERS), flip=st.integers(0, 200))
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
async def test_damaged_cursors_are_taken_or_refused_but_never_an_error_of_ours(
    graph: Graph, cut: int, junk: str, order: str, flip: int
) -> None:
    text = f"{{ agents(first: 1, orderBy: {{field: {order}}}) {{ pageInfo {{ endCursor }} }} }}"
    cursor = (await graph.ask(text))["data"]["agents"]["pageInfo"]["endCursor"]
    at = flip % len(cursor)
    damaged = cursor[:at] + ("A" if cursor[at] != "A" else "B") + cursor[at + 1 :]

    for candidate in (cursor[:cut] + junk, damaged, junk + cursor[cut:]):
        answer = await graph.run(CURSOR, {"after": candidate, "by": [{"field": order}]})
        body = orjson.loads(answer.body)
        assert answer.status != 500
        assert "data" in body or body["errors"][0]["extensions"]["code"] == "INVALID_CURSOR"


@given(
    texts=st.lists(st.text(max_size=30), min_size=1, max_size=4),
    how=st.sampled_from(["eq", "contains", "startsWith", "gt"]),
)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
async def test_any_text_is_compared_or_refused_but_never_an_error_of_ours(
    graph: Graph, texts: list[str], how: str
) -> None:
    where = {"or": [{"name": {how: text}} for text in texts] + [{"tagline": {"in": texts}}]}

    answer = await graph.run(FILTER, {"where": where})

    assert answer.status != 500
    storable = not any("\0" in text or any(0xD800 <= ord(letter) <= 0xDFFF for letter in text) for text in texts)
    assert answer.refused is not storable


@pytest.mark.parametrize(
    ("role", "text"),
    [
        (Role.ANALYST, "{ team { slug apiKeys { nodes { name } } } }"),
        (Role.INTEGRATOR, "{ team { apiKeys { totalCount } } }"),
        (Role.OPERATOR, "{ viewer { team { apiKeys { aggregates { count } } } } }"),
        (Role.AGENT, "{ events { totalCount } team { slug } }"),
        (Role.AGENT, "{ team { events(first: 1) { nodes { id } } } }"),
    ],
)
async def test_a_field_that_the_role_may_not_read_refuses_the_whole(graph: Graph, role: Role, text: str) -> None:
    error = await graph.refusal(text, by=graph.seed.principals[role])

    assert error["extensions"]["code"] == "FORBIDDEN"
    assert error["message"].startswith(f"A key with role {role.value} may not ")


async def test_a_skipped_field_needs_no_right(graph: Graph) -> None:
    text = "query ($all: Boolean!) { team { slug apiKeys @include(if: $all) { totalCount } } }"
    analyst = graph.seed.principals[Role.ANALYST]

    allowed = await graph.ask(text, {"all": False}, by=analyst)
    refused = await graph.refusal(text, {"all": True}, by=analyst)

    assert allowed == {"data": {"team": {"slug": "first"}}}
    assert refused["extensions"]["code"] == "FORBIDDEN"
