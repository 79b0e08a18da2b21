"""Memory over the API: who reads what, what is said of the classification, refusals as data."""

from __future__ import annotations

from typing import Any

from app.auth.roles import Role
from app.ids import Prefix, to_global
from tests.fixtures.parley import Parley

REMEMBER = """mutation ($i: RememberInput!) { result: remember(input: $i) {
    __typename
    ... on RememberPayload { merged memory { id kind text confidence reason agent { slug } learnedBy { slug } } }
    ... on Refusal { code message }
    ... on InvalidInput { problems { path } }
    ... on MemoryFull { limit }
} }"""
RECALL = """query ($q: String!, $a: ID, $k: [MemoryKind!], $s: String) {
    found: recallMemories(query: $q, agentId: $a, kinds: $k, subject: $s) { score memory { text } }
}"""
READ = "{ memories { totalCount nodes { text } } agents { nodes { slug memories { totalCount } } } }"


async def remember(parley: Parley, text: str, role: Role = Role.ADMIN, **more: Any) -> Any:
    return (await parley.run(REMEMBER, {"i": {"text": text, **more}}, role=role))["result"]


async def recalled(parley: Parley, query: str, role: Role = Role.ADMIN, **more: Any) -> list[str]:
    found = (await parley.run(RECALL, {"q": query, **more}, role=role))["found"]
    assert [one["score"] for one in found] == sorted((one["score"] for one in found), reverse=True)
    return [one["memory"]["text"] for one in found]


async def test_the_bus_of_the_team(parley: Parley) -> None:
    """Luke's key tells a fact of the company without a kind; kyra knows it, without anybody telling her."""
    kyra = to_global(Prefix.AGENT, parley.home.kyra.id)

    told = await remember(parley, "User's company switched to PostgreSQL", Role.AGENT)
    own = await remember(parley, "Note to self: my answers on PostgreSQL are too long.", Role.AGENT)
    hers = await remember(parley, "I find PostgreSQL hard.", agentId=kyra, kind="PRIVATE")
    profile = await remember(parley, "Likes PostgreSQL.", subject="tom")

    fact = told["memory"]
    assert (fact["kind"], fact["agent"], fact["learnedBy"]["slug"]) == ("SHARED", None, "luke")
    assert 0.5 <= fact["confidence"] <= 1
    assert fact["reason"]
    assert (own["memory"]["kind"], own["memory"]["agent"]["slug"]) == ("PRIVATE", "luke")
    assert (hers["memory"]["confidence"], profile["memory"]["kind"]) == (None, "USER_PROFILE")
    assert (await remember(parley, "user's company switched to postgresql.", Role.AGENT, kind="SHARED"))["merged"]

    everything = await recalled(parley, "What did the company switch to?")
    as_kyra = await recalled(parley, "What did the company switch to?", a=kyra)
    as_luke = await recalled(parley, "What did the company switch to?", Role.AGENT)
    with_tom = await recalled(parley, "What did the company switch to?", a=kyra, s="tom")

    assert everything[0] == as_kyra[0] == as_luke[0] == fact["text"]
    assert len(everything) == 4
    assert set(as_kyra) == {fact["text"], hers["memory"]["text"]}
    assert set(as_luke) == {fact["text"], own["memory"]["text"]}
    assert set(with_tom) == {*as_kyra, "Likes PostgreSQL."}
    assert await recalled(parley, "What did the company switch to?", k=["PRIVATE"], a=kyra) == [hers["memory"]["text"]]

    assert await recalled(parley, "What did the company switch to?", k=[]) == []

    read = await parley.run(READ, role=Role.AGENT)
    assert read["memories"]["totalCount"] == 2
    assert {one["slug"]: one["memories"]["totalCount"] for one in read["agents"]["nodes"]} == {"kyra": 0, "luke": 1}
    assert (await parley.run(READ))["memories"]["totalCount"] == 4
    node = "query ($i: ID!) { node(id: $i) { id } }"
    assert (await parley.run(node, {"i": hers["memory"]["id"]}, role=Role.AGENT))["node"] is None
    as_other = (await parley.post(RECALL, {"q": "database", "a": kyra}, role=Role.AGENT)).json()
    assert as_other["errors"][0]["extensions"]["code"] == "FORBIDDEN"


async def test_refusals_are_data_and_change_nothing(parley: Parley) -> None:
    kyra = to_global(Prefix.AGENT, parley.home.kyra.id)
    forget = "mutation ($i: ID!) { result: forget(input: {memoryId: $i}) { __typename ... on Refusal { code } } }"
    hers = (await remember(parley, "Hers alone.", agentId=kyra, kind="PRIVATE"))["memory"]["id"]

    too_long = await remember(parley, "x" * 1_000_000)
    assert (too_long["code"], too_long["problems"]) == ("INVALID_INPUT", [{"path": "text"}])
    assert (await remember(parley, "Whose?", kind="PRIVATE"))["problems"] == [{"path": "agentId"}]
    past = await remember(parley, "Old.", kind="SHARED", expiresAt="2020-01-01T00:00:00Z")
    assert past["problems"] == [{"path": "expiresAt"}]
    assert (await remember(parley, "Not mine.", Role.AGENT, agentId=kyra))["code"] == "FORBIDDEN"
    assert (await remember(parley, "May not.", Role.ANALYST))["code"] == "FORBIDDEN"
    assert (await parley.run(forget, {"i": hers}, role=Role.AGENT))["result"]["code"] == "NOT_FOUND"
    assert (await parley.run(READ))["memories"] == {"totalCount": 1, "nodes": [{"text": "Hers alone."}]}

    assert (await parley.run(forget, {"i": hers}))["result"]["__typename"] == "ForgetPayload"
    assert (await parley.run(READ))["memories"]["totalCount"] == 0
