"""docs/extend.md does what it says: its snippets go into a copy of the project and its operation is asked there."""

from __future__ import annotations

import base64
import json
from collections import Counter
from typing import Any

import pytest

from tests.fixtures.extended import Extended

EACH_AGENT = """{ agents(first: 100) { nodes { slug notes(first: 2, orderBy: {field: CREATED_AT}) {
  totalCount nodes { text } pageInfo { hasNextPage endCursor } aggregates { count stars { sum max percentile(p: 0.5) } }
  groupedAggregates(groupBy: [STARS]) { groups { count key { stars } } } } } } }"""
DEEP = '{ notes(first: 1, where: {text: {eq: "note 7"}}) { nodes { agent { notes(last: 2, orderBy: {field: CREATED_AT}) { edges { node { text agent { notes { totalCount } } } } } } } } }'  # noqa: E501


EVERYTHING = "filter=True, order=True, group=True, aggregate=True"
EMBEDDED = """{ agents(first: 100, where: {traitsHumor: {gt: 0.05}}, orderBy: {field: TRAITS_HUMOR, direction: DESC}) {
  totalCount nodes { traits { humor } } pageInfo { endCursor } aggregates { traitsHumor { min max } }
  groupedAggregates(groupBy: [TRAITS_HUMOR]) { groups { key { traitsHumor } count } } } }"""
WIDE = """{ events(first: 5, where: {position: {gt: 0.5, lt: 1e15}}, orderBy: [{field: POSITION}]) {
  totalCount nodes { position } pageInfo { endCursor } aggregates { position { min } }
  groupedAggregates(groupBy: [POSITION]) { groups { key { position } count } } }
  after: events(first: 100, after: "%s", orderBy: [{field: POSITION}]) { nodes { position } } }"""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Extended:
    return Extended(tmp_path_factory.mktemp("extended"))


def test_the_page_does_what_it_says_and_more_can_be_asked_for(
    project: Extended, database_url: str, redis_url: str
) -> None:
    """One start of the extended project answers everything: importing it takes longest."""
    publish_more_columns(project)
    (operation,), (answer,) = project.blocks("graphql"), project.blocks("json")
    cursor = base64.urlsafe_b64encode(json.dumps(["position,id", 2**62, "0" * 32]).encode()).decode()

    answers = project.answers([operation, EACH_AGENT, DEEP, EMBEDDED, WIDE % cursor], database_url, redis_url)

    assert [fed for _, fed in answers] == [whole for whole, _ in answers]
    on_the_page, each_agent, deep, embedded, wide = (whole for whole, _ in answers)
    assert on_the_page == json.loads(answer)
    related_connections_belong_to_their_rows(each_agent, deep)
    embedded_columns_are_like_others(embedded)
    wide_integers_are_whole(wide)


def publish_more_columns(project: Extended) -> None:
    humor = 'column("0 dry, 1 playful."'
    project.replace("graphql_schema/agents/types.py", humor, f"{humor}, {EVERYTHING}")
    kind = "    kind: EventKind = column("
    project.replace(
        "graphql_schema/events/types.py", kind, f'    position: float = column("Place.", {EVERYTHING})\n{kind}'
    )


def related_connections_belong_to_their_rows(whole: Any, deep: Any) -> None:
    agents = {node["slug"]: node["notes"] for node in whole["data"]["agents"]["nodes"]}
    assert len(agents) == 60
    assert {slug: notes["totalCount"] for slug, notes in agents.items() if notes["totalCount"]} == dict.fromkeys(
        ["agent-0", "agent-37", "agent-74", "agent-10", "agent-47"], 4
    )
    second = agents["agent-37"]
    assert [node["text"] for node in second["nodes"]] == ["note 16", "note 11"]
    assert second["pageInfo"]["hasNextPage"] is True
    assert second["aggregates"] == {"count": 4, "stars": {"sum": 6, "max": 3, "percentile": 2}}
    assert second["groupedAggregates"]["groups"] == [{"count": 1, "key": {"stars": stars}} for stars in (1, 2, 3, None)]
    none = agents["agent-84"]
    assert none["nodes"] == none["groupedAggregates"]["groups"] == []
    assert none["aggregates"] == {"count": 0, "stars": {"sum": None, "max": None, "percentile": None}}
    inner = deep["data"]["notes"]["nodes"][0]["agent"]["notes"]["edges"]
    assert [edge["node"]["text"] for edge in inner] == ["note 7", "note 2"]
    assert [edge["node"]["agent"]["notes"]["totalCount"] for edge in inner] == [4, 4]


def embedded_columns_are_like_others(answer: Any) -> None:
    agents = answer["data"]["agents"]
    humors = [node["traits"]["humor"] for node in agents["nodes"]]
    assert humors == sorted(humors, reverse=True)
    assert set(humors) == {0.1, 1.0}
    assert agents["aggregates"]["traitsHumor"] == {"min": 0.1, "max": 1.0}
    assert {group["key"]["traitsHumor"]: group["count"] for group in agents["groupedAggregates"]["groups"]} == Counter(
        humors
    )


def wide_integers_are_whole(answer: Any) -> None:
    events = answer["data"]["events"]
    (position,) = {node["position"] for node in events["nodes"]}
    assert events["groupedAggregates"]["groups"] == [{"key": {"position": position}, "count": 70}]
    assert answer["data"]["after"]["nodes"] == []


def test_the_type_takes_ten_lines(project: Extended) -> None:
    (source,) = project.blocks("python path=graphql_schema/notes/types.py")

    body = source[source.index("@mapped") :]

    assert len([line for line in body.splitlines() if line.strip()]) <= 10
