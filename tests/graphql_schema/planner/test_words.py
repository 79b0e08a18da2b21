"""`match` finds texts by their words, through an index, within limits."""

from __future__ import annotations

from typing import Any

import pytest

from tests.fixtures.graph import Graph

TEXTS = (
    "Please do a code review",
    "review the code of others",
    "Two code reviews",
    "CODE\nReview: now!",
    "O'Brien (a+)+$ 日本語 nothing",
)
ROUTE = """mutation ($text: String!, $agent: ID!) {
  routeMessage(input: {text: $text, agentId: $agent}) { __typename ... on Refusal { message } } }"""
WORDS = """query ($where: RoutingDecisionFilter!) { routingDecisions(where: $where) {
  totalCount nodes { query } groupedAggregates(groupBy: FALLBACK_USED) { groups { key { fallbackUsed } count } } } }"""
ROUTED = {"embedder": {"notIn": ["a", "b"]}}  # not those of the seed
FOUND: list[tuple[dict[str, Any], set[int]]] = [
    ({"match": "code review"}, {0, 1, 3}),
    ({"match": "REVIEW   Code"}, {0, 1, 3}),
    ({"match": '"code review"'}, {0, 3}),
    ({"match": "code -others"}, {0, 2, 3}),
    ({"match": "nothing or reviews"}, {2, 4}),
    ({"match": "日本語"}, {4}),
    ({"match": "(a+)+$"}, {0, 4}),
    ({"match": "co*"}, set()),
    ({"match": "code & review | !:* \\ <->"}, {0, 1, 3}),
    ({"match": "O'Brien"}, {4}),
    ({"match": None}, {0, 1, 2, 3, 4}),
]


async def test_words_are_found_as_they_are_written(own_graph: Graph) -> None:
    active = await own_graph.ask("{ agents(where: {status: {eq: ACTIVE}}, first: 1) { nodes { id } } }")
    agent = active["data"]["agents"]["nodes"][0]["id"]
    for text in TEXTS:
        routed = await own_graph.ask(ROUTE, {"text": text, "agent": agent})
        assert routed["data"]["routeMessage"] == {"__typename": "RoutingDecisionPayload"}

    for how, expected in FOUND:
        for where, wanted in (
            ({"queryWords": how, **ROUTED}, expected),
            ({"not": {"queryWords": how}, **ROUTED}, set(range(5)) - expected),
        ):
            whole = await own_graph.ask(WORDS, {"where": where})
            found = whole["data"]["routingDecisions"]

            assert {TEXTS.index(node["query"]) for node in found["nodes"]} == wanted, where
            assert found["totalCount"] == len(wanted)
            groups = [{"key": {"fallbackUsed": False}, "count": len(wanted)}] if wanted else []
            assert found["groupedAggregates"]["groups"] == groups
            assert await own_graph.ask(WORDS, {"where": where}, feeding=True) == whole
    other = await own_graph.ask(WORDS, {"where": {"queryWords": {"match": "code"}}}, by=own_graph.seed.other)
    assert other["data"]["routingDecisions"]["totalCount"] == 0


@pytest.mark.parametrize("text", ["", "  ", '!!! -- ""', "word " * 21, "x" * 401, "a\0b", "\ud800"])
@pytest.mark.asyncio(loop_scope="session")
async def test_what_holds_no_word_or_too_many_is_refused(graph: Graph, text: str) -> None:
    error = await graph.refusal(WORDS, {"where": {"queryWords": {"match": text}}})

    assert error["extensions"] == {"code": "INVALID_ARGUMENT", "argument": "where"}
