"""Routing through the graph: who may, what is answered and refused, and that no decision is lost or made twice."""

from __future__ import annotations

import asyncio
from typing import Any

import asyncpg
import pytest
from graphql import get_named_type, is_leaf_type
from strawberry.utils.str_converters import to_snake_case

from app.auth.roles import Role
from app.events.cursor import decode
from app.ids import Prefix, to_global
from graphql_schema.schema import schema
from tests.fixtures.parley import Parley
from tests.fixtures.streams import Connect

ROUTE = """
mutation ($input: RouteMessageInput!) {
  routeMessage(input: $input) {
    __typename
    ... on RoutingDecisionPayload { eventCursor routingDecision { id reason warning selectedAgent { slug } } }
    ... on InvalidInput { message problems { path } }
    ... on Refusal { code message }
  }
}
"""
FLAGS = """
mutation { setFeatureFlags(input: {flags: [
  {flag: AGENT_COLLABORATION, enabled: true}, {flag: EXPERT_GATE, enabled: true}
]}) { __typename } }
"""
SKILLS = """
mutation ($agent: ID!, $skill: String!) {
  updateAgent(input: {agentId: $agent, skills: [{name: $skill}]}) { __typename }
}
"""
POLICY = """
mutation ($input: SetRoutingPolicyInput!) {
  setRoutingPolicy(input: $input) {
    __typename
    ... on RoutingPolicyPayload { policy { version threshold weights { skillMatch loadBalance } } }
    ... on InvalidInput { problems { path } }
    ... on Refusal { code message }
  }
}
"""
EVENTS = """
subscription ($agent: ID, $fallbacks: Boolean!, $after: Cursor) {
  routingEvents(agentId: $agent, fallbackOnly: $fallbacks, after: $after) { __typename ... on Event { kind changes } }
}
"""

REVOKE = "mutation ($id: ID!) { revokeApiKey(input: {apiKeyId: $id}) { __typename } }"
TOLD = "{ events(where: {kind: {eq: ROUTING_DECIDED}}, orderBy: [{field: AT}]) { nodes { cursor } } }"


@pytest.fixture
async def gated(parley: Parley) -> Parley:
    """The home team routes by the gate: luke reviews code, kyra is the default agent."""
    await parley.run(FLAGS)
    await parley.run(SKILLS, {"agent": parley.home.agent_id, "skill": "Code review"})
    kyra = to_global(Prefix.AGENT, parley.home.kyra.id)
    await parley.run(SKILLS, {"agent": kyra, "skill": "Small talk"})
    return parley


async def route(parley: Parley, *, role: Role = Role.INTEGRATOR, **input: Any) -> dict[str, Any]:
    found: dict[str, Any] = (await parley.run(ROUTE, {"input": input}, role=role))["routeMessage"]
    return found


async def test_sixteen_callers_lose_no_decision_and_make_none_twice(gated: Parley) -> None:
    texts = [f"Please do a code review of change {number}" for number in range(3)]

    async def call(caller: int) -> list[str]:
        made = []
        for number, text in enumerate(texts):
            key = f"{caller}-{number}"
            twice = await asyncio.gather(*(route(gated, text=text, idempotencyKey=key) for _ in range(2)))
            assert twice[0] == twice[1]
            made.append(twice[0]["routingDecision"]["id"])
        return made

    made = [one for caller in await asyncio.gather(*(call(caller) for caller in range(16))) for one in caller]

    assert len(set(made)) == 16 * len(texts)
    for table, rows in {"routing_decision": 1, "routing_candidate": 2}.items():
        assert await gated.value(f"select count(*) from {table}") == rows * len(made)
    assert await gated.value("select count(*) from event where kind = 'routing.decided'") == len(made)
    assert await gated.value("select count(*) from routing_policy") == 1
    assert await gated.value("select bool_and(router_latency_ms >= gate_latency_ms) from routing_decision")


async def test_written_at_once_it_keeps_the_promises_of_a_transaction(gated: Parley) -> None:
    asked = {"text": "Please do a code review", "idempotencyKey": "once"}
    first = await route(gated, **asked)
    older = await asyncpg.connect(gated.settings.database_url)
    transaction = older.transaction()
    await transaction.start()
    await older.execute("select pg_current_xact_id()")

    beside = await route(gated, text="Another code review")
    again, other = await route(gated, **asked), await route(gated, **asked | {"text": "Something else"})
    await transaction.rollback()
    await older.close()
    await gated.settled()

    # While an older write was under way, the place is before both.
    told = (await gated.run(TOLD, role=Role.ADMIN))["events"]["nodes"]
    earlier, later = (decode(event["cursor"], gated.home.id) for event in told)
    assert decode(first["eventCursor"], gated.home.id) <= earlier
    assert earlier <= decode(beside["eventCursor"], gated.home.id) < later
    assert again == first
    assert other["code"] == "IDEMPOTENCY_CONFLICT"


async def test_key_that_died_writes_nothing(gated: Parley) -> None:
    asked = {"input": {"text": "Please do a code review"}}
    await gated.run(ROUTE, asked, role=Role.INTEGRATOR)
    await gated.run(REVOKE, {"id": gated.home.key_id(Role.INTEGRATOR)})

    [error] = await gated.errors(ROUTE, asked, role=Role.INTEGRATOR)

    assert error["extensions"]["code"] == "UNAUTHENTICATED"
    assert await gated.value("select count(*) from routing_decision") == 1
    assert await gated.value("select count(*) from event where kind = 'routing.decided'") == 1


async def test_why_not_and_explanation_read_well(gated: Parley) -> None:
    kyra = to_global(Prefix.AGENT, gated.home.kyra.id)
    decided = await route(gated, text="A code review, please")
    await gated.run("mutation ($a: ID!) { pauseAgent(input: {agentId: $a}) { __typename } }", {"a": kyra})
    without = await route(gated, text="A code review, please")

    asked = """query ($id: ID!, $kyra: ID!, $luke: ID!) { routingDecision(id: $id) {
      explanation policy { version } candidates { nodes { place agent { slug } explanation } }
      kyra: whyNot(agentId: $kyra) { selected place behind costliestSignal explanation signals { signal lost } }
      luke: whyNot(agentId: $luke) { selected explanation }
    } }"""
    known = {"kyra": kyra, "luke": gated.home.agent_id}
    first = (await gated.run(asked, {"id": decided["routingDecision"]["id"], **known}, role=Role.ANALYST))[
        "routingDecision"
    ]
    second = (await gated.run(asked, {"id": without["routingDecision"]["id"], **known}))["routingDecision"]

    assert first["explanation"].startswith("Luke answers. Luke has the best score, 0.9")
    assert [node["agent"]["slug"] for node in first["candidates"]["nodes"]] == ["luke", "kyra"]
    assert "Code review matched." in first["candidates"]["nodes"][0]["explanation"]
    lost = first["kyra"]
    assert (lost["selected"], lost["place"], lost["costliestSignal"]) == (False, 2, "SKILL_MATCH")
    assert lost["behind"] == pytest.approx(sum(gap["lost"] for gap in lost["signals"]))
    assert "what cost Kyra most is skill match" in lost["explanation"]
    assert "below the floor of 0.35" in lost["explanation"]
    assert first["luke"] == {"selected": True, "explanation": "Luke was selected, in place 1."}
    assert second["kyra"]["place"] is None
    assert second["kyra"]["explanation"] == (
        "Kyra was no candidate: it was not active when this was decided. It is paused now."
    )


async def test_why_not_of_nobody_leaves_the_decision_readable(gated: Parley) -> None:
    decided = await route(gated, text="A code review, please")
    asked = "query ($id: ID!, $who: ID!) { routingDecision(id: $id) { reason whyNot(agentId: $who) { place } } }"

    for who, code in ((to_global(Prefix.AGENT, gated.other.luke.id), "NOT_FOUND"), ("luke", "INVALID_INPUT")):
        answer = await gated.post(asked, {"id": decided["routingDecision"]["id"], "who": who})
        assert answer.json()["data"] == {"routingDecision": {"reason": "SKILL_MATCH", "whyNot": None}}
        [error] = answer.json()["errors"]
        assert (error["path"], error["extensions"]["code"]) == (["routingDecision", "whyNot"], code)


async def test_default_agent_and_every_rating_are_read_with_a_decision(gated: Parley) -> None:
    decided = await route(gated, text="A code review, please")
    rate = """mutation ($id: ID!, $stars: Int!, $rater: String!, $why: String!) {
      rateResponse(input: {routingDecisionId: $id, stars: $stars, rater: $rater, comment: $why}) { __typename }
    }"""
    for stars, rater, why in ((5, "eva", "First."), (1, "max", "Too late."), (4, "eva", "To the point.")):
        known = {"id": decided["routingDecision"]["id"], "stars": stars, "rater": rater, "why": why}
        await gated.run(rate, known, role=Role.INTEGRATOR)

    asked = """query ($id: ID!) { routingDecision(id: $id) {
      rating defaultAgentId defaultAgent { id slug }
      ratings(orderBy: [{field: STARS, direction: DESC}]) {
        nodes { stars comment ratedBy agent { slug } } aggregates { stars { mean } }
      }
    } routingDecisions(where: {ratings: {some: {stars: {lte: 2}}}}) { totalCount } }"""
    found = await gated.run(asked, {"id": decided["routingDecision"]["id"]}, role=Role.ANALYST)

    kyra = to_global(Prefix.AGENT, gated.home.kyra.id)
    assert found["routingDecision"] == {
        "rating": 0.375,
        "defaultAgentId": kyra,
        "defaultAgent": {"id": kyra, "slug": "kyra"},
        "ratings": {
            "nodes": [
                {"stars": 4, "comment": "To the point.", "ratedBy": "eva", "agent": {"slug": "luke"}},
                {"stars": 1, "comment": "Too late.", "ratedBy": "max", "agent": {"slug": "luke"}},
            ],
            "aggregates": {"stars": {"mean": 2.5}},
        },
    }
    assert found["routingDecisions"]["totalCount"] == 1


async def test_router_that_keeps_the_current_agent_says_so(gated: Parley) -> None:
    off = "mutation { setFeatureFlags(input: {flags: [{flag: EXPERT_GATE, enabled: false}]}) { __typename } }"
    await gated.run(off)
    luke, kyra = gated.home.agent_id, to_global(Prefix.AGENT, gated.home.kyra.id)
    kept = await route(gated, text="A code review, please", currentAgentId=luke)
    asked = "query ($id: ID!, $a: ID!) { routingDecision(id: $id) { explanation whyNot(agentId: $a) { explanation } } }"

    found = (await gated.run(asked, {"id": kept["routingDecision"]["id"], "a": kyra}))["routingDecision"]

    assert found["explanation"].startswith("Luke answers. Luke has the conversation, and its skills match: ")
    assert "Luke had the conversation" in found["whyNot"]["explanation"]


@pytest.mark.parametrize("seconds", [-0.001, 2_147_484, 1e308])
async def test_an_answer_takes_no_time_that_cannot_be_kept(gated: Parley, seconds: float) -> None:
    decided = await route(gated, text="A code review of the parser")
    told = """mutation ($id: ID!, $seconds: Float!) {
      recordRoutingOutcome(input: {routingDecisionId: $id, outcome: ANSWERED, responseSeconds: $seconds}) {
        ... on InvalidInput { problems { path message } }
      }
    }"""

    answer = await gated.run(told, {"id": decided["routingDecision"]["id"], "seconds": seconds})

    problem = {"path": "responseSeconds", "message": "must be 0 to 2,147,483"}
    assert answer["recordRoutingOutcome"] == {"problems": [problem]}
    assert await gated.value("select outcome from routing_decision where team_id = $1", gated.home.id) is None


async def test_decisions_are_found_by_what_was_logged(gated: Parley) -> None:
    review = await route(gated, text="A code review of the parser", modelTier=2)
    start = "mutation { startConversation(input: {}) { ... on ConversationPayload { conversation { id } } } }"
    conversation = (await gated.run(start))["startConversation"]["conversation"]["id"]
    other = await route(gated, text="@kyra review the parser code", conversationId=conversation)
    which = {"luke": gated.home.agent_id, "conversation": conversation}
    rated = """mutation ($id: ID!) {
      rateResponse(input: {routingDecisionId: $id, stars: 4}) {
        ... on RoutingDecisionPayload { routingDecision { rating } }
      }
      recordRoutingOutcome(
        input: {routingDecisionId: $id, outcome: ANSWERED, actualCostUsd: 0.125, responseSeconds: 0.9}
      ) {
        ... on RoutingDecisionPayload { routingDecision { outcome actualCost responseSeconds } }
      }
    }"""
    known = await gated.run(rated, {"id": review["routingDecision"]["id"]}, role=Role.INTEGRATOR)
    assert known["rateResponse"]["routingDecision"] == {"rating": 0.75}
    assert known["recordRoutingOutcome"]["routingDecision"] == {
        "outcome": "ANSWERED",
        "actualCost": 0.125,
        "responseSeconds": 0.9,
    }

    found = {
        '{queryWords: {match: "code review"}}': [review, other],
        '{queryWords: {match: "\\"code review\\""}}': [review],
        '{query: {contains: "OF THE"}}': [review],
        "{candidates: {some: {agentId: {eq: $luke}, skillMatch: {gt: 0.8}, selected: {eq: true}}}}": [review],
        "{candidates: {none: {selected: {eq: true}, agentId: {eq: $luke}}}}": [other],
        "{conversationId: {eq: $conversation}}": [other],
        "{reason: {eq: USER_MENTION}, confidence: {eq: 1}}": [other],
        "{rating: {gte: 0.75}, outcome: {eq: ANSWERED}, actualCost: {gt: 0.1}}": [review],
        "{tier: {eq: 2}, tierOverrideReason: {isNull: false}, complexityOverall: {lt: 3}}": [review],
        "{selectedAgentId: {eq: $luke}, mode: {eq: GATE}, strategy: {eq: TOP_1}, fallbackUsed: {eq: false}}": [review],
        '{threshold: {eq: 0.6}, skillFloor: {eq: 0.35}, createdAt: {gt: "-P1D"}}': [review, other],
    }
    for where, expected in found.items():
        asked = {name: value for name, value in which.items() if f"${name}" in where}
        nodes = (await gated.run(_finding(where), asked, role=Role.ANALYST))["routingDecisions"]["nodes"]
        assert [node["id"] for node in nodes] == [one["routingDecision"]["id"] for one in expected], where


async def test_both_exits_and_every_page_show_the_same(gated: Parley) -> None:
    texts = ("A code review, please", "@kyra hello", "What is the capital of France?")
    made = [(await route(gated, text=text))["routingDecision"]["id"] for text in texts]
    leaves = [
        name
        for name, field in schema._schema.type_map["RoutingDecision"].fields.items()  # type: ignore[attr-defined]
        if is_leaf_type(get_named_type(field.type)) and name != "explanation"
    ]
    shown = f"{' '.join(leaves)} selectedAgents {{ slug }} candidates {{ nodes {{ overall skillMatch place }} }}"
    query = "{ routingDecisions { nodes { %s } } }"
    paged = """query ($after: Cursor) {
      routingDecisions(first: 1, after: $after, orderBy: [{field: CONFIDENCE, direction: DESC}]) {
        nodes { id confidence } pageInfo { endCursor hasNextPage }
      }
    }"""

    planned = (await gated.run(query % shown))["routingDecisions"]["nodes"]
    fed = (await gated.run(query % f"{shown} explanation"))["routingDecisions"]["nodes"]
    pages, after = [], None
    while not pages or pages[-1]["pageInfo"]["hasNextPage"]:
        pages.append((await gated.run(paged, {"after": after}))["routingDecisions"])
        after = pages[-1]["pageInfo"]["endCursor"]

    assert [one.pop("explanation")[:5] for one in fed] == ["Luke ", "Kyra ", "Kyra "]
    assert fed == planned
    assert planned[1]["confidence"] == 1
    assert planned[0]["confidence"] == planned[0]["candidates"]["nodes"][0]["overall"]
    assert [page["nodes"][0]["id"] for page in pages] == [made[1], made[0], made[2]]


async def test_every_logged_column_filters_orders_and_pages(gated: Parley) -> None:
    texts = ("A code review, please", "@kyra " + "x" * 9_994, "What is the capital of France?")
    made = {(await route(gated, text=text))["routingDecision"]["id"] for text in texts}
    types: Any = schema._schema.type_map
    logged = [
        name
        for name, field in types["RoutingDecision"].fields.items()
        if is_leaf_type(get_named_type(field.type)) and name not in ("id", "explanation")
    ]
    paged = """query ($after: Cursor, $by: RoutingDecisionOrderField!) {
      routingDecisions(first: 1, after: $after, orderBy: [{field: $by, direction: DESC}]) {
        nodes { id } pageInfo { endCursor hasNextPage }
      }
    }"""

    assert set(logged) <= set(types["RoutingDecisionFilter"].fields)
    for name in logged:
        found: list[str] = []
        after, more = None, True
        while more:
            known = {"after": after, "by": to_snake_case(name).upper()}
            page = (await gated.run(paged, known, role=Role.ANALYST))["routingDecisions"]
            found += [node["id"] for node in page["nodes"]]
            after, more = page["pageInfo"]["endCursor"], page["pageInfo"]["hasNextPage"]
        assert (len(found), set(found)) == (3, made), name


def _finding(where: str) -> str:
    used = [name for name in ("luke", "conversation") if f"${name}" in where]
    head = f"query ({', '.join(f'${name}: ID!' for name in used)})" if used else ""
    return f"{head} {{ routingDecisions(where: {where}) {{ nodes {{ id }} }} }}"


async def test_policy_is_versioned_and_refuses_what_makes_no_sense(gated: Parley) -> None:
    async def change(role: Role = Role.ADMIN, **input: Any) -> dict[str, Any]:
        found: dict[str, Any] = (await gated.run(POLICY, {"input": input}, role=role))["setRoutingPolicy"]
        return found

    before = await route(gated, text="A code review, please")
    changed = await change(weights={"skillMatch": 0.55, "loadBalance": 0}, threshold=0.7, expectedVersion=1)
    same = await change(threshold=0.7)
    stale = await change(threshold=0.1, expectedVersion=1)

    assert changed["policy"] == {"version": 2, "threshold": 0.7, "weights": {"skillMatch": 0.55, "loadBalance": 0.0}}
    assert same["policy"]["version"] == 2
    assert stale["code"] == "CONFLICT"
    for input, path in (
        ({"weights": {"skillMatch": 0.5}}, "weights"),
        ({"weights": {"skillMatch": 1e308}}, "weights.skillMatch"),
        ({"threshold": -0.1}, "threshold"),
        ({"k": 0}, "k"),
        ({"note": "x" * 501}, "note"),
    ):
        assert (await change(**input))["problems"] == [{"path": path}], input
    assert (await change(role=Role.INTEGRATOR, threshold=0.1))["code"] == "FORBIDDEN"
    kept = "query ($id: ID!) { routingDecision(id: $id) { policy { version } } routingPolicy { version } }"
    answer = await gated.run(kept, {"id": before["routingDecision"]["id"]})
    assert answer == {"routingDecision": {"policy": {"version": 1}}, "routingPolicy": {"version": 2}}
    assert await gated.value("select count(*) from event where kind = 'routing.policy_changed'") == 1


async def test_refusals_change_nothing(gated: Parley) -> None:
    nobody = to_global(Prefix.AGENT, gated.other.luke.id)
    refused = [
        (await route(gated, text="Hello", agentId=nobody), "NOT_FOUND"),
        (await route(gated, text="Hello", k=0), "INVALID_INPUT"),
        (await route(gated, text="Hello", conversationId="agent_" + "a" * 32), "INVALID_INPUT"),
        (await route(gated, text="z" * 1_000_000), "INVALID_INPUT"),
        (await route(gated, text="Hello", role=Role.ANALYST), "FORBIDDEN"),
        (await route(gated, text="Hello", role=Role.AGENT), "FORBIDDEN"),
    ]
    await gated.run(FLAGS.replace("enabled: true", "enabled: false"))
    await gated.run("mutation ($a: ID!) { pauseAgent(input: {agentId: $a}) { __typename } }",
                    {"a": to_global(Prefix.AGENT, gated.home.kyra.id)})  # fmt: skip
    refused.append((await route(gated, text="Hello"), "NO_AGENT_AVAILABLE"))
    refused.append(
        (await route(gated, text="Hello", agentId=to_global(Prefix.AGENT, gated.home.kyra.id)), "AGENT_UNAVAILABLE")
    )

    assert [(found.get("code"), expected) for found, expected in refused] == [(code, code) for _, code in refused]
    assert await gated.value("select count(*) from routing_decision") == 0


async def test_stream_tells_of_decisions_and_of_fallbacks_alone(gated: Parley, connect: Connect) -> None:
    decided = await route(gated, text="A code review, please")
    fallen = await route(gated, text="What is the capital of France?")
    await gated.run(
        "mutation ($id: ID!) { rateResponse(input: {routingDecisionId: $id, stars: 2}) { __typename } }",
        {"id": decided["routingDecision"]["id"]},
    )

    async with connect() as client:
        after = {"after": decided["eventCursor"]}
        await client.subscribe(EVENTS, {"fallbacks": False} | after, id="all")
        await client.subscribe(EVENTS, {"fallbacks": True} | after, id="fallbacks")
        await client.subscribe(EVENTS, {"fallbacks": False, "agent": gated.home.agent_id} | after, id="luke")
        seen = {}
        for id in ("all", "fallbacks", "luke"):
            items = []
            while (item := await client.item(id))["__typename"] == "Event":
                items.append(item["kind"])
            seen[id] = items

    # A cursor may lie before its own event while older writes are under way.
    assert seen["all"][-2:] == ["ROUTING_FELL_BACK", "ROUTING_RATED"]
    assert seen["fallbacks"] == ["ROUTING_FELL_BACK"]
    assert seen["luke"][-1:] == ["ROUTING_RATED"]
    assert fallen["routingDecision"]["warning"].startswith("No agent matches")
