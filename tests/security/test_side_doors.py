"""Small ways around a rule that once were open: proxies, logs, downloads, paused agents, unchecked ids and texts."""

from __future__ import annotations

import io
import logging
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import httpx
import pytest
import structlog
from graphql import GraphQLObjectType, get_named_type

from app.auth.roles import Permission, Role, allowed
from app.cli.serve import server_config
from app.config import LogFormat, Settings
from app.observability.access_log import AccessLog
from app.observability.logging import configure_logging
from app.observability.metrics import REFUSALS, LatestMetrics
from graphql_schema.planner.mapping import NEEDS
from graphql_schema.schema import schema
from tests.fixtures.consultations import Consultations
from tests.fixtures.office import Office, open_office
from tests.fixtures.parley import Parley
from tests.fixtures.requests import plain_value
from tests.fixtures.serving import serving

CORE = schema._schema
FORGED = "x\n12:00:00 200 all is well\x1b[2J\x1b]0;owned\x07\x9b31m\u2028\u202e"
CONTROLS = ("\x1b", "\x07", "\x9b", "\u2028", "\u202e", "\r")


@asynccontextmanager
async def server_behind(settings: Settings, proxies: str) -> AsyncIterator[httpx.AsyncClient]:
    strict = settings.model_copy(update={"trusted_proxies": proxies, "auth_failures_per_minute": 3})
    async with serving(server_config(strict)) as url, httpx.AsyncClient(base_url=url) as client:
        yield client


async def guess(client: httpx.AsyncClient, address: str) -> int:
    headers = {"Authorization": f"Bearer parley_{'x' * 43}", "X-Forwarded-For": address}
    return (await client.post("/graphql", json={"query": "{ team { id } }"}, headers=headers)).status_code


@pytest.mark.parametrize(
    ("proxies", "statuses"), [("", [401, 401, 401, 429, 429]), ("127.0.0.1", [401, 401, 401, 401, 401])]
)
async def test_forwarded_addresses_count_only_behind_a_configured_proxy(
    parley_settings: Settings, proxies: str, statuses: list[int]
) -> None:
    """A client that names another address with each guess is one client all the same."""
    async with server_behind(parley_settings, proxies) as client:
        assert [await guess(client, f"10.0.{number}.1") for number in range(5)] == statuses


@pytest.fixture
def stream() -> Iterator[io.StringIO]:
    root = logging.getLogger()
    before, level, configured = root.handlers[:], root.level, structlog.get_config()
    yield io.StringIO()
    root.handlers[:] = before
    root.setLevel(level)
    structlog.configure(**configured)


def test_console_log_escapes_control_characters(stream: io.StringIO) -> None:
    configure_logging(Settings(log_format=LogFormat.CONSOLE), stream)
    log = structlog.get_logger("app.here")

    log.info(FORGED, value=FORGED, values=[FORGED])
    try:
        raise ValueError(FORGED)
    except ValueError:
        log.exception("failed")

    written = stream.getvalue()
    assert [char for char in CONTROLS if char in written] == []
    assert not any(line.startswith("12:00:00 200") for line in written.splitlines())
    assert "\\x1b[2J" in written
    assert "  | ValueError: x" in written


def test_access_log_for_people_escapes_control_characters(capsys: pytest.CaptureFixture[str]) -> None:
    AccessLog(Settings(log_format=LogFormat.CONSOLE)).write("abc", 200, 0.1, path=f"/{FORGED}", operation=FORGED)

    (line,) = capsys.readouterr().err.splitlines()
    assert [char for char in CONTROLS if char in line] == []


def test_metrics_are_rendered_at_most_once_a_second() -> None:
    latest = LatestMetrics()
    first = latest.body(100.0)
    REFUSALS.labels("SIDE_DOOR").inc()

    assert latest.body(100.9) is first
    assert b'code="SIDE_DOOR"' in latest.body(101.0)


async def test_a_role_limited_to_trusted_documents_downloads_no_report(parley: Parley) -> None:
    office = await open_office(parley)
    path = f"/reports/{office.things['Report', '']}.md"
    analyst = {"Authorization": f"Bearer {parley.home.secrets[Role.ANALYST]}"}
    before = await parley.client.get(path, headers=analyst)
    limit = """mutation { limitRolesToTrustedDocuments(input: {roles: [ANALYST]}) { __typename } }"""
    await parley.run(limit)

    after = await parley.client.get(path, headers=analyst)
    by_admin = await parley.client.get(path, headers={"Authorization": f"Bearer {parley.home.secrets[Role.ADMIN]}"})

    assert (before.status_code, by_admin.status_code) == (200, 200)
    assert after.json()["errors"][0]["extensions"]["code"] == "UNTRUSTED_DOCUMENT"
    assert "findings" not in after.text


async def test_a_paused_agents_key_reads_and_writes_nothing(parley: Parley) -> None:
    office = await open_office(parley)
    pause = "mutation ($id: ID!) { pauseAgent(input: {agentId: $id}) { __typename } }"
    await parley.run(pause, {"id": await office.agent_id("ada")})
    before = await written(office)

    refused = [await answer_of(office, name) for name in mutations_of_agents()]

    assert {answer["__typename"] for answer in refused} <= {"Forbidden", "InvalidInput"}, refused
    paused = [
        answer
        for answer in refused
        if answer["message"].startswith("Ada is paused, so its key can read but not write.")
    ]
    assert len(paused) > len(refused) / 2
    assert await written(office) == before
    assert await parley.run("{ team { slug } }", secret=office.secrets["ada"]) == {"team": {"slug": "home"}}


def mutations_of_agents() -> list[str]:
    fields = CORE.mutation_type.fields  # type: ignore[union-attr]
    needs: dict[str, Permission] = {
        name: field.extensions["strawberry-definition"].metadata[NEEDS] for name, field in fields.items()
    }
    return [name for name, permission in needs.items() if allowed(Role.AGENT, permission)]


async def answer_of(office: Office, name: str) -> dict[str, Any]:
    field = CORE.mutation_type.fields[name]  # type: ignore[union-attr]
    argument = field.args["input"].type
    variables = {"input": plain_value(list(office.things.values()), argument, "input")}
    payload: Any = get_named_type(field.type)
    assert all(isinstance(member, GraphQLObjectType) for member in payload.types)
    document = (
        f"mutation ($input: {argument}) {{ {name}(input: $input) {{ __typename ... on Refusal {{ message }} }} }}"
    )
    answer: dict[str, Any] = (await office.parley.run(document, variables, secret=office.secrets["ada"]))[name]
    return answer


async def written(office: Office) -> Any:
    return await office.parley.value("select count(*) from event where team_id = $1", office.desk.team_id)


async def test_a_routed_message_keeps_only_ids_of_the_team(parley: Parley) -> None:
    office = await open_office(parley)
    conversation, message = office.things["Conversation", "a conversation"], office.things["Message", "a conversation"]
    nobodys = {"conversationId": "conversation_" + "a" * 32, "messageId": "message_" + "a" * 32}
    start = "mutation { startConversation(input: {}) { ... on ConversationPayload { conversation { id } } } }"
    elsewhere = (await parley.run(start))["startConversation"]["conversation"]["id"]
    foreign = (await parley.run(start, secret=parley.other.secrets[Role.ADMIN]))["startConversation"]["conversation"]
    before = await parley.value("select count(*) from routing_decision")
    route = partial(routed, parley)

    refused = [
        await route(conversationId=nobodys["conversationId"]),
        await route(messageId=nobodys["messageId"]),
        await route(conversationId=foreign["id"]),
        await route(conversationId=elsewhere, messageId=message),
    ]

    assert refused == ["NotFound"] * 4
    assert await parley.value("select count(*) from routing_decision") == before
    assert await route(conversationId=conversation, messageId=message) == "RoutingDecisionPayload"


async def routed(parley: Parley, **ids: str) -> str:
    document = "mutation ($input: RouteMessageInput!) { routeMessage(input: $input) { __typename } }"
    answer = await parley.run(document, {"input": {"text": "Hello", **ids}})
    return str(answer["routeMessage"]["__typename"])


async def test_a_null_character_in_a_recalled_subject_is_refused_by_its_name(parley: Parley) -> None:
    recall = 'query ($s: String) { recallMemories(query: "x", subject: $s) { score } }'

    for role in (Role.ADMIN, Role.AGENT):
        answer = (await parley.post(recall, {"s": "a\0b"}, role=role)).json()
        assert answer["errors"][0]["extensions"]["code"] == "INVALID_INPUT"
        assert answer["errors"][0]["message"] == "subject: must not contain a null character"


async def test_the_note_of_an_assignment_keeps_no_secret_of_a_consultation(parley: Parley) -> None:
    office = await open_office(parley)
    await office.desk.sql(
        "update attention_item set consultation_id = (select id from consultation) where agent_id = :ada",
        ada=(await office.desk.agent("ada")).id,
    )
    assign = """mutation ($id: ID!, $note: String!) { assignAttention(input: {attentionId: $id, note: $note}) {
        ... on AttentionPayload { attentionItem { history { nodes { note } } } } } }"""
    note = "Use postgresql://ada:hunter2secret@db/prod to look."

    answer = await parley.run(assign, {"id": office.things["AttentionItem", ""], "note": note})

    notes = [step["note"] for step in answer["assignAttention"]["attentionItem"]["history"]["nodes"]]
    assert "hunter2secret" not in str(notes)
    assert "[redacted:" in notes[-1]
    assert not await parley.value("select count(*) from event where changes::text like '%hunter2secret%'")


async def test_who_leaves_a_conversation_recalls_nothing_of_it(parley: Parley) -> None:
    """The answer is kept in Redis meanwhile."""
    office = await open_office(parley)
    recall = 'query { recallMemories(query: "zebrasummary", first: 50) { memory { text } } }'
    read = partial(parley.run, recall, secret=office.secrets["ada"])
    before = str([await read(), await read()])
    leave = """mutation ($id: ID!, $ada: ID!) {
      updateConversationAgents(input: {conversationId: $id, remove: [$ada]}) { __typename } }"""
    await parley.run(
        leave, {"id": office.things["Conversation", "a conversation"], "ada": await office.agent_id("ada")}
    )

    assert before.count("zebrasummary") == 2
    assert "zebrasummary" not in str(await read())


async def test_a_trace_leaves_out_what_its_reader_may_not_see(parley: Parley) -> None:
    office = await open_office(parley)
    whole = "query ($id: ID!) { collaborationSession(id: $id) { trace messages { totalCount } } }"
    thing = {"id": office.things["CollaborationSession", ""]}

    read = {slug: await parley.run(whole, thing, secret=office.secrets[slug]) for slug in ("cid", "dan", "eve")}

    sessions = {slug: answer["collaborationSession"] for slug, answer in read.items()}
    assert {slug: session["messages"]["totalCount"] for slug, session in sessions.items()} == {
        "cid": 1,
        "dan": 1,
        "eve": 0,
    }
    assert {slug: str(session["trace"]).count("zebrachannel") for slug, session in sessions.items()} == {
        "cid": 1, "dan": 1, "eve": 0,
    }  # fmt: skip
    hidden = {"id": office.things["CollaborationSession", "a conversation"]}
    assert await parley.run(whole, hidden, secret=office.secrets["eve"]) == {"collaborationSession": None}


async def test_a_consultation_asked_in_a_conversation_is_quoted_to_nobody_else(parley: Parley) -> None:
    office = await open_office(parley)
    consultations = Consultations(office.desk, parley.database)
    task = await office.desk.working("cid", "ada")
    conversation_id = await office.first("conversation")
    await office.desk.sql("update task set conversation_id = :conversation", conversation=conversation_id)
    await consultations.ask("ada", "Is there a bug, a race condition, in zebraprivate?", suggest="ben", task=task)
    await consultations.answer("ben", "Yes, zebraprivate has one.")

    row = await consultations.ask("eve", "Is there a bug, a race condition, in the login?", suggest="ben")

    (exchange,) = await consultations.exchanges(row)
    assert exchange.package is not None
    quoted = str(exchange.package["similar_consultations"])
    assert "zebraquestion" in quoted  # of the consultation that was asked outside of a conversation
    assert "zebraprivate" not in quoted
