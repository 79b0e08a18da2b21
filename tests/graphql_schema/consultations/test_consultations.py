"""Consultations through the API: asked, answered, clarified, rated, followed, counted and refused."""

from __future__ import annotations

from typing import Any

import pytest

from app.auth.roles import Role
from app.config import Flags, Settings, load_settings
from app.db.engine import Database
from app.ids import Prefix, to_global
from tests.fixtures.consultations import Consultations
from tests.fixtures.desk import Desk
from tests.fixtures.parley import Parley
from tests.fixtures.streams import Connect, SocketClient

PAYLOAD = """__typename ... on ConsultationPayload { eventCursor consultation {
  id status outcome rating chosenBecause specialist { slug } exchangeCount
  exchanges { nodes { number kind author content suggestedNextSteps references contextPackage } }
} } ... on InvalidInput { problems { path message } } ... on Refusal { code message }"""


def document(verb: str) -> str:
    name = f"{verb}Consultation"
    given = f"{verb.title()}ConsultationInput!"
    asked = "... on NotConsulted { asked }" if verb == "answer" else ""
    return f"mutation ($input: {given}) {{ result: {name}(input: $input) {{ {PAYLOAD} {asked} }} }}"


ASK, ANSWER, CLARIFY, RATE = (document(verb) for verb in ("request", "answer", "clarify", "rate"))
QUESTION = "Who talks to the customers, and how is talking done?"
METRICS = """{ consultations {
  totalCount
  byPair: groupedAggregates(groupBy: [REQUESTER, SPECIALIST]) {
    groups { key { requester { slug } specialist { slug } } count exchangeCount { mean } } }
  byReason: groupedAggregates(groupBy: [REASON]) { groups { key { reason } count successful { share } } }
  aggregates { rating { mean } cost { sum } loopDetected { share } responseSeconds { mean max } tokensUsed { sum } }
} }"""


@pytest.fixture
def parley_settings(database_url: str, redis_url: str) -> Settings:
    flags = Flags(agent_collaboration=True)
    return load_settings(DATABASE_URL=database_url, REDIS_URL=redis_url, port=0, log_level="error", flags=flags)


@pytest.fixture
def desk(parley: Parley) -> Desk:
    home = parley.home
    return Desk(parley.transaction, parley.settings, home.id, {"kyra": home.kyra, "luke": home.luke})


def kyra(parley: Parley) -> str:
    return to_global(Prefix.AGENT, parley.home.kyra.id)


async def run(parley: Parley, document: str, role: Role = Role.ADMIN, **given: Any) -> Any:
    return (await parley.run(document, {"input": given}, role=role))["result"]


async def test_from_the_question_to_the_figures(parley: Parley, desk: Desk) -> None:
    await desk.sql("update team set message_policy = 'hub_and_spoke'")
    asked = await run(parley, ASK, requesterId=kyra(parley), question=QUESTION, reason="API_CONTRACT",
                      context={"concern": "password=hunter2", "files": ["a.py"]})  # fmt: skip
    row = asked["consultation"]
    which = {"consultationId": row["id"]}
    assert (row["status"], row["specialist"]) == ("PENDING", {"slug": "luke"})
    assert row["exchanges"]["nodes"][0]["contextPackage"]["concern"] == "password=[redacted:password]"

    stranger = await run(parley, ANSWER, **which, answer="I know.", agentId=kyra(parley))
    assert (stranger["__typename"], stranger["asked"]) == ("NotConsulted", "luke")
    answered = await run(parley, ANSWER, Role.AGENT, **which, answer="Luke does. token=abc123",
                         suggestedNextSteps=["Call him."], references=["crm.md"], tokensUsed=40,
                         costUsd="0.01")  # fmt: skip
    done = answered["consultation"]
    assert (done["status"], done["outcome"]) == ("COMPLETED", "SUCCESSFUL")
    assert done["exchanges"]["nodes"][1] | {"contextPackage": None} == {
        "number": 2, "kind": "RESPONSE", "author": "Luke", "content": "Luke does. token=[redacted:password]",
        "suggestedNextSteps": ["Call him."], "references": ["crm.md"], "contextPackage": None,
    }  # fmt: skip
    twice = await run(parley, ANSWER, Role.AGENT, **which, answer="Again.")
    assert twice["code"] == "CONFLICT"
    again = await run(parley, CLARIFY, **which, text="At which hours of the day, and in which language?")
    assert (again["consultation"]["status"], again["consultation"]["exchangeCount"]) == ("PENDING", 3)
    early = await run(parley, RATE, **which, rating=3)
    assert early["code"] == "CONFLICT"
    await run(parley, ANSWER, Role.AGENT, **which, answer="From nine to five, in French.")
    six = await run(parley, RATE, **which, rating=6)
    assert [problem["path"] for problem in six["problems"]] == ["rating"]
    rated = await run(parley, RATE, **which, rating=5, lessons="Ask Luke.")
    assert rated["consultation"]["rating"] == 5

    metrics = (await parley.run(METRICS, role=Role.ANALYST))["consultations"]
    assert metrics["byPair"]["groups"] == [
        {"key": {"requester": {"slug": "kyra"}, "specialist": {"slug": "luke"}}, "count": 1,
         "exchangeCount": {"mean": 4.0}},
    ]  # fmt: skip
    assert metrics["byReason"]["groups"] == [
        {"key": {"reason": "API_CONTRACT"}, "count": 1, "successful": {"share": 1.0}}
    ]
    figures = metrics["aggregates"]
    assert (figures["rating"]["mean"], figures["loopDetected"]["share"]) == (5.0, 0.0)
    assert figures["tokensUsed"]["sum"] > 40
    assert (await parley.run("{ memories { nodes { kind text } } }"))["memories"]["nodes"][0]["kind"] == "PROCEDURAL"


async def test_what_cannot_be_is_refused_and_nothing_changes(parley: Parley, desk: Desk) -> None:
    asked = await run(parley, ASK, requesterId=kyra(parley), question=QUESTION)
    which = {"consultationId": asked["consultation"]["id"]}
    before = await parley.value("select md5(string_agg(c::text, '')) from consultation c")
    events = await parley.value("select count(*) from event")
    foreign, long = to_global(Prefix.AGENT, parley.other.kyra.id), "x" * 10_001
    refused = {
        "INVALID_INPUT": [
            await run(parley, ASK, requesterId=kyra(parley), question=" "),
            await run(parley, ASK, requesterId=kyra(parley), question="x" * 4_001),
            await run(parley, ASK, requesterId=kyra(parley), question="x", context={"snippets": [{"code": long}]}),
            await run(parley, ASK, question="Who asks?"),
            await run(parley, ANSWER, **which, answer="x" * 20_001),
            await run(parley, RATE, **which, rating=0),
            await run(parley, ASK, requesterId=kyra(parley), question="x", suggestedAgentId="task_" + "0" * 32),
        ],
        "NOT_FOUND": [
            await run(parley, ASK, requesterId=foreign, question=QUESTION),
            await run(parley, ASK, requesterId=kyra(parley), question=QUESTION, suggestedAgentId=foreign),
            await run(parley, ANSWER, consultationId="consult_" + "0" * 32, answer="x"),
        ],
        "FORBIDDEN": [
            await run(parley, ASK, Role.ANALYST, question=QUESTION),
            await run(parley, ASK, Role.AGENT, requesterId=kyra(parley), question=QUESTION),
            await run(parley, CLARIFY, Role.AGENT, **which, text="Mine?"),
            await run(parley, RATE, Role.AGENT, **which, rating=5),
        ],
    }  # fmt: skip
    for code, answers in refused.items():
        assert [one.get("code") for one in answers] == [code] * len(answers), (code, answers)
    await desk.sql("""update team set flags = '{"agent_collaboration": false}'""")
    off = [
        await run(parley, ASK, requesterId=kyra(parley), question=QUESTION),
        await run(parley, ANSWER, **which, answer="x"),
        await run(parley, CLARIFY, **which, text="x"),
    ]
    assert [one["code"] for one in off] == ["FEATURE_DISABLED"] * 3
    assert await parley.value("select md5(string_agg(c::text, '')) from consultation c") == before
    assert await parley.value("select count(*) from event") == events


async def test_a_person_decides_and_agents_see_only_their_own(parley: Parley, desk: Desk, database: Database) -> None:
    await parley.allow()
    consultations = Consultations(desk, database)
    await desk.agent("ada")
    row = await consultations.ask("kyra", "Which whisky goes with oysters?")
    name = to_global(Prefix.CONSULTATION, row.id)
    hidden = f'{{ consultations {{ totalCount }} consultation(id: "{name}") {{ id }} }}'
    decisions = "{ routingDecisions { nodes { query } } }"
    assert await parley.run(hidden, role=Role.AGENT) == {"consultations": {"totalCount": 0}, "consultation": None}
    assert await parley.run(decisions, role=Role.AGENT) == {"routingDecisions": {"nodes": []}}
    assert len((await parley.run(decisions, role=Role.ANALYST))["routingDecisions"]["nodes"]) == 1
    queue = await parley.run("{ attention { nodes { id kind options consultation { id question } } } }")
    (item,) = queue["attention"]["nodes"]
    assert (item["kind"], item["options"]) == ("ESCALATION", ["answer", "redirect", "close"])
    decide = """mutation ($input: AnswerAttentionInput!) { result: answerAttention(input: $input) { __typename
        ... on AttentionPayload { attentionItem { status consultation { status specialist { slug } } } }
        ... on Refusal { code message } } }"""
    moved = await run(parley, decide, Role.OPERATOR, attentionId=item["id"], option="redirect", text="He drinks.",
                      agentId=parley.home.agent_id)  # fmt: skip
    assert moved["attentionItem"]["consultation"] == {"status": "PENDING", "specialist": {"slug": "luke"}}
    second = await run(parley, decide, Role.OPERATOR, attentionId=item["id"], option="close")
    assert second["code"] == "ALREADY_ANSWERED"
    assert (await parley.run(hidden, role=Role.AGENT))["consultations"] == {"totalCount": 1}
    assert len((await parley.run(decisions, role=Role.AGENT))["routingDecisions"]["nodes"]) == 1
    await luke_sees_the_work_for_his_own_questions_and_answers_only(parley, consultations)
    await parley.settled()
    kinds = "[CONSULTATION_ESCALATED, CONSULTATION_REDIRECTED]"
    told = await parley.run(
        f"{{ events(where: {{kind: {{in: {kinds}}}}}) {{ nodes {{ kind consultation {{ id }} }} }} }}"
    )
    assert [one["kind"] for one in told["events"]["nodes"]] == ["CONSULTATION_ESCALATED", "CONSULTATION_REDIRECTED"]


async def luke_sees_the_work_for_his_own_questions_and_answers_only(
    parley: Parley, consultations: Consultations
) -> None:
    desk = consultations.desk
    await desk.agent("zoe", skills=[{"name": "zebras", "description": "Zebras and other animals with stripes."}])
    await desk.sql("""update team set flags = flags || '{"task_delegation": true}'""")
    theirs = await consultations.ask("kyra", "How many stripes do zebras have?")
    asked = await consultations.ask("luke", "Why do zebras have stripes?")
    working = [await desk.claim("zoe") for _ in range(2)]
    assert [task.id for task in working if task] == [theirs.task_id, asked.task_id]
    below = [await desk.delegate(None, "ada", parent=task) for task in working]
    listed = "{ tasks(orderBy: [{field: CREATED_AT}]) { nodes { id } } }"

    everybodys = [one["id"] for one in (await parley.run(listed, role=Role.ANALYST))["tasks"]["nodes"]]
    lukes = [one["id"] for one in (await parley.run(listed, role=Role.AGENT))["tasks"]["nodes"]]

    hidden = [to_global(Prefix.TASK, one) for one in (theirs.task_id, below[0].id) if one]
    assert (len(everybodys), lukes) == (5, [one for one in everybodys if one not in hidden])


@pytest.fixture
def database(parley: Parley) -> Database:
    return parley.database


async def test_a_conversation_is_not_handed_to_who_waits_for_an_answer(parley: Parley) -> None:
    await parley.allow()
    asked = await run(parley, ASK, Role.AGENT, question=QUESTION)
    assert asked["consultation"]["specialist"] == {"slug": "kyra"}
    start = "mutation { startConversation(input: {}) { ... on ConversationPayload { conversation { id } } } }"
    conversation = (await parley.run(start))["startConversation"]["conversation"]["id"]
    hand = """mutation ($input: HandoffConversationInput!) { result: handoffConversation(input: $input) { __typename
        ... on CycleDetected { chain } ... on Refusal { code } } }"""
    given = {"conversationId": conversation, "toAgentId": parley.home.agent_id, "reason": "a bug", "reply": False}

    refused = await run(parley, hand, **given)
    allowed = await run(parley, hand, **given, returnPolicy="NONE")

    assert (refused["code"], refused["chain"]) == ("CYCLE_DETECTED", ["kyra", "luke", "kyra"])
    assert allowed["__typename"] == "HandoffPayload"


FOLLOW = """subscription ($id: ID, $after: Cursor) { consultationEvents(consultationId: $id, after: $after) {
  __typename ... on Event { kind cursor consultation { id } } ... on CaughtUp { cursor }
} }"""


async def heard(socket: SocketClient, id: str, last: str) -> list[tuple[str, str]]:
    """Events up to the one of a kind, as pairs of kind and cursor."""
    told: list[tuple[str, str]] = []
    while not told or told[-1][0] != last:
        item = await socket.item(id)
        if item["__typename"] == "Event":
            told.append((item["kind"], item["cursor"]))
    return told


async def test_streams_tell_every_step_once_go_on_after_a_cursor_and_keep_to_the_agent(
    parley: Parley, desk: Desk, connect: Connect
) -> None:
    first = await run(parley, ASK, requesterId=kyra(parley), question=QUESTION)
    which = {"consultationId": first["consultation"]["id"]}
    await run(parley, ANSWER, Role.AGENT, **which, answer="Luke does.")
    ada = await desk.agent("ada")
    strange = await run(
        parley, ASK, requesterId=to_global(Prefix.AGENT, ada.id), question="Which whisky goes with oysters?"
    )
    others = strange["consultation"]["id"]
    begin = {"after": first["eventCursor"]}
    async with connect(secret=parley.home.secrets[Role.ANALYST]) as socket:
        await socket.subscribe(FOLLOW, begin, id="team")
        await socket.subscribe(FOLLOW, {"id": which["consultationId"]} | begin, id="one")
        team = await heard(socket, "team", "CONSULTATION_ESCALATED")
        await run(parley, RATE, **which, rating=5)
        one = await heard(socket, "one", "CONSULTATION_RATED")
    async with connect(secret=parley.home.secrets[Role.AGENT]) as socket:  # Luke, who answered
        await socket.subscribe(FOLLOW, {"after": one[0][1]}, id="own")
        await socket.subscribe(FOLLOW, {"id": others}, id="hidden")
        own = await heard(socket, "own", "CONSULTATION_RATED")
        hidden = await socket.receive("hidden")

    # The event of its own cursor comes again where an older transaction was still running then.
    assert [kind for kind, _ in team][-3:] == [
        "CONSULTATION_ANSWERED", "CONSULTATION_REQUESTED", "CONSULTATION_ESCALATED",
    ]  # fmt: skip
    assert [kind for kind, _ in one][-2:] == ["CONSULTATION_ANSWERED", "CONSULTATION_RATED"]
    assert own == one[1:]
    assert (hidden["type"], hidden["payload"][0]["extensions"]["code"]) == ("error", "FORBIDDEN")
