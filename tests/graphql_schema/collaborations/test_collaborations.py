"""Collaboration sessions over the API: started, followed, worked on from outside, decided on, and refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from jsonschema import Draft202012Validator

from app.auth.roles import Role
from app.collaborations.record import Record, read_task
from app.collaborations.trace import task_trace
from app.config import Flags
from app.ids import Prefix, to_global
from app.tasks import tool_calls
from app.tasks.tool_calls import ToolCallSpec
from graphql_schema.schema import schema
from tests.fixtures.desk import ACTOR, Desk
from tests.fixtures.parley import Parley
from tests.fixtures.sessions import Sessions

RESULT = {
    "CollaborationPayload": "collaboration { id status errorCode error maxCostUsd maxDurationSeconds }",
    "StageOutputPayload": "stage { id name } task { id status }",
    "InvalidInput": "problems { path message }",
    "ParticipantsUnsuitable": "pattern role least most found",
    "FeatureDisabled": "flag",
    "AgentUnavailable": "reason",
    "BudgetExhausted": "scope",
}
PUBLISHED = json.loads(Path("docs/multi-agent-session.schema.json").read_text())
READ = """query ($id: ID!) { collaborationSession(id: $id) {
  pattern status goal round cost tokensUsed converged agreement result stagesCompleted
  lead { slug } budget { scope cap spent closedAt }
  participants { position role status agent { slug } }
  stages { nodes { kind name round status output data cost agent { slug } task { status collaboration { id } } } }
  votes { nodes { round choice reason agent { slug } } }
  tasks(orderBy: [{field: CREATED_AT, direction: ASC}]) { totalCount nodes { purpose outputSchema } }
  events(first: 50) { nodes { kind } }
} }"""


@pytest.fixture
async def sessions(parley: Parley) -> Sessions:
    home = parley.home
    settings = parley.settings.model_copy(update={"flags": Flags(collaboration=True)})
    desk = Desk(parley.transaction, settings, home.id, {"kyra": home.kyra, "luke": home.luke})
    await desk.sql("""update team set flags = '{"collaboration": true}'""")
    await desk.sql("update agent set runtime = 'external'")
    return Sessions(desk)


async def do(parley: Parley, name: str, role: Role = Role.INTEGRATOR, /, **given: Any) -> Any:
    kind = name[0].upper() + name[1:]
    members = {member.name for member in schema._schema.type_map[f"{kind}Result"].types}  # type: ignore[attr-defined]
    asked = " ".join(f"... on {member} {{ {fields} }}" for member, fields in RESULT.items() if member in members)
    selection = f"__typename {asked} ... on Refusal {{ code message }}"
    document = f"mutation ($input: {kind}Input!) {{ {name}(input: $input) {{ {selection} }} }}"
    return (await parley.run(document, {"input": given}, role=role))[name]


async def start(parley: Parley, pattern: str = "CONSENSUS", role: Role = Role.INTEGRATOR, **given: Any) -> Any:
    kyra = {"agentId": to_global(Prefix.AGENT, parley.home.kyra.id), "role": "CONTRIBUTOR"}
    luke = {"agentId": parley.home.agent_id, "role": "CONTRIBUTOR"}
    usual = {"pattern": pattern, "goal": "Cache?", "participants": [kyra, luke]}
    return await do(parley, "startCollaboration", role, **(usual | given))


async def test_a_vote_of_agents_of_ones_own(parley: Parley, sessions: Sessions) -> None:
    made = (await start(parley))["collaboration"]
    vote = {"choice": "yes", "reason": "Fast."}
    kyra = to_global(Prefix.AGENT, parley.home.kyra.id)

    one = await do(parley, "submitStageOutput", collaborationId=made["id"], agentId=kyra, result="Yes.", output=vote)
    twice = await do(parley, "submitStageOutput", collaborationId=made["id"], agentId=kyra, result="Yes.", output=vote)
    own = await do(parley, "submitStageOutput", Role.AGENT, collaborationId=made["id"], result="Yes.", output=vote)
    await sessions.run_follow_ups()

    assert (made["status"], made["maxCostUsd"], made["maxDurationSeconds"]) == ("ACTIVE", 0.5, 600)
    assert (one["__typename"], one["task"]["status"]) == ("StageOutputPayload", "COMPLETED")
    assert twice["code"] == "CONFLICT"
    assert own["task"]["status"] == "COMPLETED"
    read = (await parley.run(READ, {"id": made["id"]}))["collaborationSession"]
    assert (read["status"], read["converged"], read["agreement"], read["round"]) == ("COMPLETED", True, 1.0, 1)
    assert read["result"].startswith("Consensus: 2 of 2 votes for 'yes'")
    assert {vote["agent"]["slug"] for vote in read["votes"]["nodes"]} == {"kyra", "luke"}
    assert [(seat["position"], seat["status"]) for seat in read["participants"]] == [(1, "COMPLETED"), (2, "COMPLETED")]
    assert (read["budget"]["scope"], read["budget"]["closedAt"] is None) == ("COLLABORATION", False)
    assert read["tasks"]["totalCount"] == 2
    assert read["tasks"]["nodes"][0]["outputSchema"]["properties"]["choice"] == {"enum": ["yes", "no"]}
    assert read["stages"]["nodes"][0]["task"]["collaboration"]["id"] == made["id"]
    assert read["events"]["nodes"][-1]["kind"] == "COLLABORATION_COMPLETED"


async def test_who_has_several_stages_at_once_says_which_one_is_done(parley: Parley, sessions: Sessions) -> None:
    await sessions.desk.agent("ada", runtime="external")
    template = {"template": "architect_developer_reviewer"}
    one = await sessions.start("supervisor_worker", "lead:kyra", "worker:luke", "reviewer:ada", **template)
    tasks = [{"title": title, "description": "Make it."} for title in ("parse", "print")]
    await sessions.answer("kyra", "A plan.", {"tasks": tasks})
    plan, _, second = await sessions.stages(one)
    nothing: dict[str, list[str]] = {"files_created": [], "files_modified": [], "files_deleted": []}
    made = {"status": "completed", "changes": nothing, "summary": "Made.", "blockers": []}
    session = {"collaborationId": to_global(Prefix.COLLABORATION, one.id), "result": "Made."}

    async def submit(stage: UUID | None, task: UUID | None) -> Any:
        output = made | {"task_id": to_global(Prefix.TASK, task)} if task else made
        named = {"stageId": to_global(Prefix.STAGE, stage)} if stage else {}
        return await do(parley, "submitStageOutput", Role.AGENT, **session, output=output, **named)

    strange = await submit(plan.id, second.task_id)
    done = await submit(second.id, second.task_id)
    twice = await submit(second.id, second.task_id)
    first = await submit(None, None)

    assert (strange["code"], twice["code"]) == ("NOT_FOUND", "CONFLICT")
    assert [(one["stage"]["name"], one["task"]["status"]) for one in (done, first)] == [
        ("print", "COMPLETED"), ("parse", "COMPLETED"),
    ]  # fmt: skip


async def test_refusals_are_typed_and_leave_nothing(parley: Parley, sessions: Sessions) -> None:
    luke = {"agentId": parley.home.agent_id, "role": "WORKER"}
    foreign = {"agentId": to_global(Prefix.AGENT, parley.other.luke.id), "role": "WORKER"}
    lead = {"agentId": to_global(Prefix.AGENT, parley.home.kyra.id), "role": "LEAD"}

    unsuitable = await start(parley, "SUPERVISOR_WORKER", participants=[luke])
    assert unsuitable["code"] == "PARTICIPANTS_UNSUITABLE"
    assert [unsuitable[name] for name in ("pattern", "role", "least", "most", "found")] == [
        "SUPERVISOR_WORKER", "LEAD", 1, 1, 0,
    ]  # fmt: skip
    alone = await start(parley, "CONSENSUS", participants=[lead])
    assert alone["message"] == "The pattern consensus needs 2 to 20 participants beside the lead; there are 0."
    nobody = await start(parley, "PIPELINE", participants=[])
    assert nobody["problems"] == [{"path": "participants", "message": "must have 1 or more items"}]
    slug = await start(parley, "DELEGATION", participants=[luke | {"agentId": "luke"}])
    assert (
        slug["problems"][0]["message"] == "'luke' is not an id; expected agent_…. Look it up by its slug: agent(slug:)."
    )
    stranger = await start(parley, "DELEGATION", participants=[foreign])
    assert stranger["code"] == "NOT_FOUND"
    of_others = await start(parley, "SUPERVISOR_WORKER", participants=[luke, foreign | {"role": "LEAD"}])
    assert of_others["code"] == "NOT_FOUND"
    rounds = await start(parley, maxRounds=0)
    assert [problem["path"] for problem in rounds["problems"]] == ["maxRounds"]
    twice = await start(parley, "PIPELINE", participants=[luke | {"stage": "a"}, lead | {"stage": "a"}])
    assert [problem["path"] for problem in twice["problems"]] == ["participants.1.stage"]
    assert (await start(parley, "DELEGATION", participants=[luke], maxCostUsd=51))["scope"] == "TEAM_DAY"
    option = await start(parley, options=["a | b", "c"])
    assert option["code"] == "INVALID_INPUT"
    assert (await start(parley, role=Role.ANALYST))["code"] == "FORBIDDEN"
    not_lead = await start(parley, "DELEGATION", Role.AGENT, participants=[luke, lead])
    assert not_lead["code"] == "FORBIDDEN"
    nobody = await start(parley, "DELEGATION", Role.AGENT, participants=[luke])
    assert nobody["code"] == "INVALID_INPUT"
    await sessions.desk.sql("update agent set status = 'paused' where slug = 'luke'")
    assert (await start(parley))["reason"] == "PAUSED"
    await sessions.desk.sql("update team set flags = '{}'")
    assert (await start(parley))["flag"] == "COLLABORATION"
    assert (await parley.run("{ collaborationSessions { totalCount } }"))["collaborationSessions"]["totalCount"] == 0


FILE = """name: Home
agents:
  - {name: Kyra}
  - {name: Luke}
groups:
  - {name: Crew, agents: [Kyra, Luke]}
collaboration_templates:
  - name: Gate
    description: Two eyes see more.
    pattern: peer_review
    participants:
      - {agent: kyra, role: worker, instructions: Be brief.}
      - {group: crew, role: reviewer}
    max_rounds: 2
    max_cost_usd: 0.25
    on_failure: abort
"""


async def test_a_session_by_a_template_of_the_team(parley: Parley, sessions: Sessions) -> None:
    """Whoever sits already is not picked of the group; what the caller gives besides counts instead."""
    apply = "mutation ($file: String!) { applyTeam(input: {file: $file}) { ... on Refusal { message } } }"
    assert (await parley.run(apply, {"file": FILE}))["applyTeam"] == {}
    listed = """{ teamTemplates { slug name description pattern template maxDurationSeconds maxCostUsd maxRounds
      onFailure participants { role agentSlug groupSlug stage instructions } } }"""
    read = """query ($id: ID!) { collaborationSession(id: $id) { pattern teamTemplate maxRounds onFailure
      participants { role instructions pickedBecause group { slug } agent { slug } } } }"""

    (template,) = (await parley.run(listed, role=Role.ANALYST))["teamTemplates"]
    made = (await do(parley, "startCollaboration", goal="Cache?", teamTemplate="gate", maxCostUsd=0.3))["collaboration"]
    unknown = await do(parley, "startCollaboration", goal="Cache?", teamTemplate="gat")
    both = await do(parley, "startCollaboration", goal="Cache?", teamTemplate="gate", pattern="DELEGATION")
    neither = await do(parley, "startCollaboration", goal="Cache?")
    await sessions.desk.sql("update agent set status = 'archived', archived_at = now() where slug = 'kyra'")
    gone = await do(parley, "startCollaboration", goal="Cache?", teamTemplate="gate")

    assert (template["slug"], template["maxDurationSeconds"], template["maxRounds"]) == ("gate", 600, 2)
    assert [(seat["agentSlug"], seat["groupSlug"]) for seat in template["participants"]] == [
        ("kyra", None),
        (None, "crew"),
    ]
    assert (made["status"], made["maxCostUsd"]) == ("ACTIVE", 0.3)
    session = (await parley.run(read, {"id": made["id"]}))["collaborationSession"]
    assert (session["teamTemplate"], session["maxRounds"], session["onFailure"]) == ("gate", 2, "ABORT")
    worker, reviewer = session["participants"]
    assert (worker["agent"]["slug"], worker["instructions"], worker["group"]) == ("kyra", "Be brief.", None)
    assert (reviewer["agent"]["slug"], reviewer["group"]["slug"]) == ("luke", "crew")
    assert reviewer["pickedBecause"].startswith("Nobody's skills match, and Luke has least to do")
    assert (unknown["code"], "did you mean 'gate'?" in unknown["message"]) == ("NOT_FOUND", True)
    assert [problem["path"] for problem in both["problems"]] == ["pattern"]
    assert {problem["path"] for problem in neither["problems"]} == {"pattern", "participants"}
    assert gone["code"] == "AGENT_UNAVAILABLE"
    assert (await parley.run("{ collaborationSessions { totalCount } }"))["collaborationSessions"]["totalCount"] == 1


async def test_a_seat_names_an_agent_or_a_group(parley: Parley, sessions: Sessions) -> None:
    luke = {"agentId": parley.home.agent_id, "role": "WORKER"}
    form = "mutation ($i: SaveGroupInput!) { saveGroup(input: $i) { ... on GroupPayload { group { id } } } }"
    crew = {"slug": "crew", "name": "Crew", "agentIds": [parley.home.agent_id]}
    group = {"groupId": (await parley.run(form, {"i": crew}))["saveGroup"]["group"]["id"]}

    twice = await start(parley, "PIPELINE", participants=[luke, group | {"role": "WORKER"}])
    both = await start(parley, "DELEGATION", participants=[luke | group])
    neither = await start(parley, "DELEGATION", participants=[{"role": "WORKER"}])
    stranger = {"groupId": to_global(Prefix.GROUP, parley.other.luke.id), "role": "WORKER"}
    foreign = await start(parley, "DELEGATION", participants=[stranger])

    assert (twice["code"], "nobody who could take it up" in twice["message"]) == ("CONFLICT", True)
    for refused in (both, neither):
        assert [problem["path"] for problem in refused["problems"]] == ["participants.0.agentId"]
    assert foreign["code"] == "NOT_FOUND"
    assert (await parley.run("{ collaborationSessions { totalCount } }"))["collaborationSessions"]["totalCount"] == 0


async def test_a_session_is_found_by_the_conversation_that_it_is_for(parley: Parley, sessions: Sessions) -> None:
    """An agent's key names, and sees, one in which its agent takes part; luke does not."""
    talk = "mutation { startConversation(input: {}) { ... on ConversationPayload { conversation { id } } } }"
    conversation = (await parley.run(talk))["startConversation"]["conversation"]["id"]
    read = """query ($id: ID!) { conversation(id: $id) { collaborations { nodes { id conversation { id } } } } }"""
    peek = "query ($id: ID!) { collaborationSession(id: $id) { conversationId conversation { id } } }"
    close = "mutation ($id: ID!) { closeConversation(input: {conversationId: $id}) { __typename } }"
    led = [
        {"agentId": parley.home.agent_id, "role": "LEAD"},
        {"agentId": to_global(Prefix.AGENT, parley.home.kyra.id), "role": "WORKER"},
    ]

    made = (await start(parley, conversationId=conversation))["collaboration"]["id"]
    await start(parley)
    foreign = await start(parley, "DELEGATION", Role.AGENT, participants=led, conversationId=conversation)
    hidden = (await parley.run(peek, {"id": made}, role=Role.AGENT))["collaborationSession"]
    unknown = await start(parley, conversationId=to_global(Prefix.CONVERSATION, parley.home.id))
    found = (await parley.run(read, {"id": conversation}))["conversation"]["collaborations"]["nodes"]
    await parley.run(close, {"id": conversation})
    closed = await start(parley, conversationId=conversation)

    assert found == [{"id": made, "conversation": {"id": conversation}}]
    assert (foreign["code"], unknown["code"], closed["code"]) == ("FORBIDDEN", "NOT_FOUND", "CONFLICT")
    assert hidden == {"conversationId": conversation, "conversation": None}
    told = "select changes ->> 'conversationId' from event where kind = 'collaboration.started' order by position, id"
    assert await parley.value(told) == conversation
    assert (await parley.run("{ collaborationSessions { totalCount } }"))["collaborationSessions"]["totalCount"] == 2


async def test_who_may_intervene(parley: Parley, sessions: Sessions) -> None:
    """luke's own key: in what luke leads, but never to give it more."""
    made = await sessions.start("supervisor_worker", "lead:luke", "worker:kyra")
    other = await sessions.start("delegation", "lead:kyra", "worker:luke")
    which, not_mine = ({"collaborationId": to_global(Prefix.COLLABORATION, one.id)} for one in (made, other))
    await sessions.fail("kyra")
    stage = to_global(Prefix.STAGE, (await sessions.stages(made))[0].id)
    about = "{ attention { nodes { stage { id agent { slug } collaboration { id } } } } }"

    assert {"stage": {"id": stage, "agent": {"slug": "kyra"}, "collaboration": {"id": which["collaborationId"]}}} in (
        await parley.run(about)
    )["attention"]["nodes"]
    assert (await do(parley, "extendCollaboration", Role.AGENT, **which, seconds=5))["code"] == "FORBIDDEN"
    assert (await do(parley, "extendCollaboration", Role.OPERATOR, **which))["code"] == "INVALID_INPUT"
    more = await do(parley, "extendCollaboration", Role.OPERATOR, **which, seconds=5, costUsd=0.25)
    assert (more["collaboration"]["maxDurationSeconds"], more["collaboration"]["maxCostUsd"]) == (605, 0.75)
    too_long = await do(parley, "extendCollaboration", Role.OPERATOR, **which, seconds=86_400)
    assert too_long["problems"][0]["path"] == "seconds"
    assert (await do(parley, "cancelCollaboration", Role.AGENT, **not_mine))["code"] == "FORBIDDEN"
    assert (await do(parley, "cancelCollaboration", Role.ANALYST, **which))["code"] == "FORBIDDEN"
    retry = await do(parley, "decideSubtaskFailure", Role.AGENT, stageId=stage, decision="RETRY")
    assert retry["collaboration"]["status"] == "ACTIVE"
    again = await do(parley, "decideSubtaskFailure", Role.AGENT, stageId=stage, decision="RETRY")
    assert again["code"] == "CONFLICT"
    gone = await do(parley, "cancelCollaboration", Role.AGENT, **which, reason="Enough.")
    assert (gone["collaboration"]["status"], gone["collaboration"]["error"]) == ("CANCELLED", "Enough.")
    managed = await do(parley, "submitStageOutput", Role.AGENT, **not_mine, result="x" * 1_000_001)
    assert managed["problems"][0]["path"] == "result"


async def test_the_stream_tells_every_step_once(parley: Parley, sessions: Sessions) -> None:
    """From the cursor of the start on, to whoever takes part; nobody else's agent may listen."""
    document = """mutation ($input: StartCollaborationInput!) { startCollaboration(input: $input) {
      ... on CollaborationPayload { eventCursor collaboration { id } } } }"""
    kyra = {"agentId": to_global(Prefix.AGENT, parley.home.kyra.id), "role": "CONTRIBUTOR"}
    given = {
        "pattern": "CONSENSUS",
        "goal": "Cache?",
        "participants": [kyra, {**kyra, "agentId": parley.home.agent_id}],
    }
    started = (await parley.run(document, {"input": given}))["startCollaboration"]
    for slug in ("kyra", "luke"):
        await sessions.answer(slug, "Yes.", {"choice": "yes", "reason": "Fast."})

    await parley.settled()
    follow = """subscription ($id: ID!, $after: Cursor) { collaborationEvents(collaborationId: $id, after: $after) {
      __typename ... on Event { kind } } }"""
    variables = {"id": started["collaboration"]["id"], "after": started["eventCursor"]}
    headers = {"Authorization": f"Bearer {parley.home.secrets[Role.AGENT]}", "Accept": "text/event-stream"}
    kinds: list[str] = []
    body = {"query": follow, "variables": variables}
    async with parley.client.stream("POST", "/graphql", json=body, headers=headers) as answer:
        async for line in answer.aiter_lines():
            if '"CaughtUp"' in line:
                break
            if line.startswith("data: {"):
                kinds.append(json.loads(line.removeprefix("data: "))["data"]["collaborationEvents"]["kind"])

    assert [kind for kind in kinds if kind.startswith("COLLABORATION") and not kind.endswith("STARTED")] == [
        "COLLABORATION_STAGE_COMPLETED", "COLLABORATION_STAGE_COMPLETED", "COLLABORATION_COMPLETED",
    ]  # fmt: skip
    assert kinds.count("TASK_COMPLETED") == 2
    alone = await sessions.start("delegation", "worker:kyra")
    refused = await parley.client.post(
        "/graphql",
        json={"query": follow, "variables": {"id": to_global(Prefix.COLLABORATION, alone.id)}},
        headers=headers,
    )
    assert "FORBIDDEN" in refused.text


async def test_a_session_is_told_as_a_whole(parley: Parley, sessions: Sessions) -> None:
    """The document fits the schema that we publish; the timeline has a lane for each agent and all that they cost."""
    desk = sessions.desk
    made = await sessions.start("supervisor_worker", "lead:kyra", "worker:luke")
    task = await desk.claim("luke")
    assert task is not None
    async with desk.transaction() as session:
        spec = ToolCallSpec(name="search", arguments={"q": "cache"}, result="Found.")
        claim = {"team_id": desk.team_id, "task_id": task.id, "claim_token": task.claim_token, "actor": ACTOR}
        await tool_calls.record(session, **claim, call=spec)  # type: ignore[arg-type]
    await desk.complete(task, "Slow.", cost="0.01")
    await sessions.run_follow_ups()
    await sessions.answer("kyra", "Do not.", cost="0.02")
    asked = """query ($id: ID!) { collaborationSession(id: $id) { status cost trace timeline {
      lanes { agentId agentSlug agentName role cost
        spans { name kind round toolCalls status stageId startedAt endedAt } }
      arrows { kind fromAgentId toAgentId } } } }"""

    read = (await parley.run(asked, {"id": to_global(Prefix.COLLABORATION, made.id)}))["collaborationSession"]

    single = task_trace(await _read_task(desk, task.id))
    for document in (read["trace"], single):
        Draft202012Validator(PUBLISHED).validate(json.loads(json.dumps(document)))
    trace = read["trace"]
    assert (trace["status"], trace["collaboration"]["pattern"]) == ("completed", "master_worker")
    assert trace["collaboration"]["orchestrator"]["agent_id"] == "kyra"
    first, second = trace["sub_sessions"]
    assert [first["triggered_by_call_id"], second["triggered_by_call_id"]] == [
        call["call_id"] for call in trace["tool_calls"]
    ]
    assert [call["tool_name"] for call in first["tool_calls"]] == ["search"]
    assert [message["message_type"] for message in trace["messages"]] == ["task_assignment", "task_completion"] * 2
    assert (single["collaboration"]["mode"], single["output"]) == ("single", "Slow.")
    lanes = read["timeline"]["lanes"]
    assert [lane["cost"] for lane in lanes] == [0.02, 0.01]
    assert [(lane["agentSlug"], lane["agentName"], lane["role"]) for lane in lanes] == [
        ("kyra", "Kyra", "LEAD"),
        ("luke", "Luke", "WORKER"),
    ]
    shown = [(span["kind"], span["round"], span["toolCalls"]) for lane in lanes for span in lane["spans"]]
    assert shown == [("SYNTHESIS", 1, 0), ("WORK", 1, 1)]
    assert sum(lane["cost"] for lane in lanes) == read["cost"]
    assert [arrow["kind"] for arrow in read["timeline"]["arrows"]] == ["ASSIGNED", "ANSWERED"] * 2


async def _read_task(desk: Desk, task_id: UUID) -> Record:
    async with desk.transaction() as session:
        return await read_task(session, team_id=desk.team_id, task_id=task_id)


async def test_the_channel_of_a_session_is_its_participants_and_closes_with_it(
    parley: Parley, sessions: Sessions
) -> None:
    made = await sessions.start("supervisor_worker", "lead:kyra", "worker:luke")
    await sessions.desk.agent("ada")
    send = """mutation ($input: SendAgentMessageInput!) { sendAgentMessage(input: $input) {
      ... on AgentMessagePayload { agentMessage { recipientCount channel } } ... on Refusal { code } } }"""

    async def say(agent_id: UUID) -> Any:
        given = {
            "fromAgentId": to_global(Prefix.AGENT, agent_id),
            "channel": f"collab:{to_global(Prefix.COLLABORATION, made.id)}",
            "body": "Hi",
            "type": "TASK_STATUS",
        }
        return (await parley.run(send, {"input": given}))["sendAgentMessage"]

    inside, outside = await say(parley.home.luke.id), await say(sessions.desk.agents["ada"].id)
    await sessions.cancel(made)

    read = "query ($id: ID!) { collaborationSession(id: $id) { trace messages { nodes { body channel } } } }"
    shown = (await parley.run(read, {"id": to_global(Prefix.COLLABORATION, made.id)}))["collaborationSession"]
    (kept,) = shown["messages"]["nodes"]
    (told,) = [one for one in shown["trace"]["messages"] if one["message_type"] == "status_update"]
    Draft202012Validator(PUBLISHED).validate(shown["trace"])

    assert kept == {"body": "Hi", "channel": f"collab:{to_global(Prefix.COLLABORATION, made.id)}"}
    assert (told["content"], told["from_agent"]["agent_id"]) == ({"body": "Hi"}, "luke")
    assert inside["agentMessage"]["recipientCount"] == 1
    assert outside["code"] == "NOT_IN_CHANNEL"
    assert (await say(parley.home.luke.id))["code"] == "CHANNEL_CLOSED"
