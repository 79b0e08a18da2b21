"""Tasks over GraphQL: delegated, worked on by somebody's own program, read from every side, and every refusal typed."""

from __future__ import annotations

import asyncio
import time
from typing import Any
from uuid import uuid4

import httpx
import pytest
from sqlalchemy import text

from app.auth.roles import Role
from app.ids import Prefix, to_global
from app.observability import metrics
from graphql_schema.tasks.work import MOST_WAIT_S
from tests.fixtures.parley import Parley
from tests.graphql_schema.tasks.conftest import DELEGATE, Do

EVERYTHING = """
query ($id: ID!) {
  task(id: $id) {
    title status type priority depth onBehalfOf progress result output resultArtifacts tokensUsed cost attemptsMade
    creator { slug } assignee { slug tasks(where: {status: {eq: COMPLETED}}) { totalCount } }
    parent { id } subtasks { nodes { title status parent { title } root { id } } } root { id } tree { totalCount }
    attempts { nodes { number outcome cost agent { slug } toolCalls { nodes { name } } } }
    toolCalls { nodes { name arguments result createdTask { title } } }
    budget { scope cap reserved spent remaining closedAt }
    dependants { nodes { title waitingFor } } deadLetters { totalCount }
    events { nodes { kind task { id } } }
  }
  tasks(where: {cost: {eq: 0.03}}) { nodes { title } aggregates { count cost { sum } } }
  team { dayBudget { cap reserved spent remaining } monthBudget { spent } }
}
"""


async def test_whole_life_of_a_task_is_told_and_read(work: Parley, delegate: Do, claim: Do, do: Do) -> None:
    made = await delegate(budgetUsd=0.4)
    after = await delegate(title="Report", assigneeId=to_global(Prefix.AGENT, work.home.kyra.id),
                           creatorId=work.home.agent_id, dependsOn=[made["task"]["id"]])  # fmt: skip
    assert after["__typename"] == "TaskPayload", after
    claimed = await claim()
    task, token = claimed["task"]["id"], claimed["claimToken"]
    held = {"taskId": task, "claimToken": token}
    beat = await do("heartbeatTask", **held, progress="halfway", tokensUsed=100, costUsd=0.01)
    ada = await _agent(work, "ada")
    sub = await delegate(role=Role.AGENT, creatorId=None, parentId=task, claimToken=token, assigneeId=ada, title="Sub")
    call = await do("recordToolCall", **held, name="delegate_task", arguments={"to": "ada"}, result="asked",
                    createdTaskId=sub["task"]["id"])  # fmt: skip
    done = await do("completeTask", **held, result="Valkey.", output={"winner": "valkey"}, tokensUsed=900,
                    resultArtifacts=["file:report.md"], costUsd=0.03)  # fmt: skip

    assert made["task"]["budget"] == {"cap": 0.4, "reserved": 0, "spent": 0, "remaining": 0.4}
    assert beat["task"]["progress"] == "halfway"
    assert call["toolCall"]["createdTask"] == {"id": sub["task"]["id"]}
    assert done["task"]["status"] == "COMPLETED"
    await work.settled()
    read = await work.run(EVERYTHING, {"id": task})
    assert read["task"].pop("budget") | {"closedAt": None} == {
        "scope": "TASK", "cap": 0.4, "reserved": 0, "spent": 0.03, "remaining": 0.37, "closedAt": None,
    }  # fmt: skip
    assert read["task"] == {
        "title": "Compare caches", "status": "COMPLETED", "type": "RESEARCH", "priority": "NORMAL", "depth": 1,
        "onBehalfOf": "integrator key", "progress": "halfway", "result": "Valkey.", "output": {"winner": "valkey"},
        "resultArtifacts": ["file:report.md"], "tokensUsed": 900, "cost": 0.03, "attemptsMade": 1,
        "creator": {"slug": "kyra"}, "assignee": {"slug": "luke", "tasks": {"totalCount": 1}}, "parent": None,
        "subtasks": {"nodes": [{"title": "Sub", "status": "CANCELLED", "parent": {"title": "Compare caches"},
                                "root": {"id": task}}]},
        "root": {"id": task},
        "tree": {"totalCount": 2},
        "attempts": {"nodes": [{"number": 1, "outcome": "COMPLETED", "cost": 0.03, "agent": {"slug": "luke"},
                                "toolCalls": {"nodes": [{"name": "delegate_task"}]}}]},
        "toolCalls": {"nodes": [{"name": "delegate_task", "arguments": {"to": "ada"}, "result": "asked",
                                 "createdTask": {"title": "Sub"}}]},
        "dependants": {"nodes": [{"title": "Report", "waitingFor": 0}]}, "deadLetters": {"totalCount": 0},
        "events": {"nodes": [{"kind": kind, "task": {"id": task}} for kind in (
            "TASK_CREATED", "TASK_CLAIMED", "TASK_PROGRESSED", "TASK_TOOL_CALLED", "TASK_COMPLETED")]},
    }  # fmt: skip
    assert read["tasks"] == {
        "nodes": [{"title": "Compare caches"}],
        "aggregates": {"count": 1, "cost": {"sum": 0.03}},
    }
    assert read["team"]["dayBudget"] == {"cap": 50, "reserved": 0.5, "spent": 0.03, "remaining": 49.47}
    assert read["team"]["monthBudget"] == {"spent": 0.03}


async def test_each_refusal_has_its_type_and_leaves_nothing(work: Parley, delegate: Do, claim: Do) -> None:
    kyra = to_global(Prefix.AGENT, work.home.kyra.id)
    await delegate(tools=["search"], budgetUsd=0.1)
    parent = (await claim())["task"]["id"]
    before = await _counts(work)

    assert (await delegate(assigneeId=kyra))["chain"] == ["kyra", "kyra"]
    assert (await delegate(creatorId=None, parentId=parent, assigneeId=kyra))["chain"] == ["kyra", "luke", "kyra"]
    ada = await _agent(work, "ada")
    before = await _counts(work)
    below = {"creatorId": None, "parentId": parent, "assigneeId": ada}
    refused = await delegate(**below, tools=["write"])
    assert (refused["__typename"], refused["missing"]) == ("AuthorityExceeded", ["the tool 'write'"])
    refused = await delegate(**below, budgetUsd=0.11)
    assert refused | {"message": ""} == {
        "__typename": "BudgetExhausted", "code": "BUDGET_EXHAUSTED", "message": "", "scope": "TASK", "cap": 0.1,
        "reserved": 0, "spent": 0, "asked": 0.11,
    }  # fmt: skip
    assert (await delegate(title=" "))["problems"][0]["path"] == "title"
    assert (await delegate(inputArtifacts=["not a reference"]))["problems"][0]["path"] == "inputArtifacts.0"
    assert (await delegate(instructions="x" * 900_000))["problems"][0]["path"] == "instructions"
    whole = await work.post(DELEGATE, {"input": {"instructions": "x" * 10_000_000}})
    assert (whole.status_code, whole.json()["errors"][0]["extensions"]["code"]) == (413, "BODY_TOO_LARGE")
    assert (await delegate(maxTokens=-1, timeoutSeconds=0))["__typename"] == "InvalidInput"
    assert (await delegate(assigneeId=f"agent_{uuid4().hex}"))["__typename"] == "NotFound"
    assert (await delegate(parentId=f"task_{uuid4().hex}"))["__typename"] == "NotFound"
    assert (await delegate(assigneeId=work.other.agent_id))["__typename"] == "NotFound"
    assert (await delegate(role=Role.ANALYST))["__typename"] == "Forbidden"
    assert (await delegate(role=Role.OPERATOR))["permission"] == "DELEGATE_TASKS"
    await work.run("mutation ($i: ID!) { pauseAgent(input: {agentId: $i}) { __typename } }", {"i": ada})
    assert (await delegate(**below))["reason"] == "PAUSED"
    assert (await delegate(creatorId=ada))["message"].startswith("ada is paused and delegates nothing.")
    async with work.transaction() as session:
        await session.execute(text("update team set flags = '{}'"))
    assert (await delegate())["flag"] == "TASK_DELEGATION"

    assert await _counts(work) == before


async def test_whom_a_task_may_ask_is_shown(work: Parley, delegate: Do) -> None:
    ada = await _agent(work, "ada")
    bound, free = await delegate(agents=[ada]), await delegate()

    asked = "query ($id: ID!) { task(id: $id) { allowedTools allowedAgents { nodes { slug } totalCount } } }"
    shown = [(await work.run(asked, {"id": made["task"]["id"]}))["task"] for made in (bound, free)]
    everybody = (await work.run("{ agents { totalCount } }"))["agents"]["totalCount"]
    assert shown[0] == {"allowedTools": None, "allowedAgents": {"nodes": [{"slug": "ada"}], "totalCount": 1}}
    assert shown[1]["allowedAgents"]["totalCount"] == everybody > 1


async def test_an_agents_key_acts_in_its_own_name_only(work: Parley, delegate: Do, claim: Do, do: Do) -> None:
    kyra = to_global(Prefix.AGENT, work.home.kyra.id)
    await work.allow()
    own = await delegate(role=Role.AGENT, creatorId=None, assigneeId=kyra)
    assert own["__typename"] == "TaskPayload"
    assert (await delegate(role=Role.AGENT, assigneeId=kyra))["__typename"] == "Forbidden"
    assert (await claim(agentId=kyra))["code"] == "FORBIDDEN"
    theirs = await delegate(title="not luke's to cancel")

    assert (await do("cancelTask", taskId=theirs["task"]["id"]))["code"] == "FORBIDDEN"
    assert (await do("cancelTask", taskId=own["task"]["id"]))["task"]["status"] == "CANCELLED"
    assert (await do("retryTask", taskId=own["task"]["id"]))["code"] == "FORBIDDEN"
    kyras = await claim(role=Role.INTEGRATOR, agentId=kyra)
    assert kyras["task"] is None
    luke = await claim()
    below = await delegate(role=Role.AGENT, creatorId=None, parentId=luke["task"]["id"], assigneeId=kyra)
    assert below["problems"][0]["path"] == "claimToken"


@pytest.mark.parametrize(
    ("verb", "more"),
    [
        ("heartbeatTask", {}),
        ("completeTask", {"result": "late"}),
        ("failTask", {"message": "late"}),
        ("recordToolCall", {"name": "search"}),
    ],
)
async def test_a_wrong_claim_changes_nothing(
    work: Parley, delegate: Do, claim: Do, do: Do, verb: str, more: Any
) -> None:
    await delegate()
    task = (await claim())["task"]["id"]
    before = await _counts(work)

    assert (await do(verb, taskId=task, claimToken=str(uuid4()), **more))["__typename"] == "ClaimLost"
    assert (await do(verb, taskId=task, claimToken="x", **more))["problems"][0]["path"] == "claimToken"

    assert await _counts(work) == before


async def test_failure_dead_letter_replay_and_discard(work: Parley, delegate: Do, claim: Do, do: Do) -> None:
    for title in ("first", "second"):
        await delegate(title=title)
        held = await claim()
        failed = await do("failTask", taskId=held["task"]["id"], claimToken=held["claimToken"], message="No access.",
                          errorCode="NO_ACCESS", mayPass=False, costUsd=0.01)  # fmt: skip
        assert (failed["task"]["status"], failed["task"]["errorCode"]) == ("FAILED", "NO_ACCESS")
    listed = await work.run(
        "{ deadLetters(where: {status: {eq: OPEN}}) { nodes { id reason task { title cost } } } }", role=Role.OPERATOR
    )
    first, second = listed["deadLetters"]["nodes"]
    assert first["reason"] == "NO_ACCESS: No access."

    replayed = await do("replayDeadLetter", Role.OPERATOR, deadLetterId=first["id"], title="first, again", note="fixed")
    discarded = await do("discardDeadLetter", Role.OPERATOR, deadLetterId=second["id"], note="old")
    twice = await do("discardDeadLetter", Role.OPERATOR, deadLetterId=first["id"])

    assert replayed["deadLetter"] | {"id": ""} == {
        "id": "", "status": "REPLAYED", "note": "fixed", "resolvedBy": "operator key",
    }  # fmt: skip
    assert (replayed["replay"]["title"], replayed["replay"]["status"]) == ("first, again", "PENDING")
    assert (discarded["deadLetter"]["status"], discarded["replay"]) == ("DISCARDED", None)
    assert twice["__typename"] == "Conflict"
    assert (await claim())["task"]["title"] == "first, again"


async def test_an_agents_key_reads_the_dead_letters_of_what_it_gave_or_has(
    work: Parley, delegate: Do, claim: Do, do: Do
) -> None:
    ada = await _agent(work, "ada")
    await delegate()
    luke = await claim()
    below = {"parentId": luke["task"]["id"], "claimToken": luke["claimToken"], "creatorId": None}
    for given in ({"title": "kyra's alone"}, {"title": "below luke's", **below}):
        await delegate(assigneeId=ada, **given)
        held = await claim(role=Role.INTEGRATOR, agentId=ada)
        mine = {"taskId": held["task"]["id"], "claimToken": held["claimToken"]}
        await do("failTask", Role.INTEGRATOR, **mine, message="No access.", mayPass=False)
    listed = "{ deadLetters { nodes { id task { id title deadLetters { totalCount } } } } }"

    hidden, shown = (await work.run(listed, role=Role.ANALYST))["deadLetters"]["nodes"]
    assert (hidden["task"]["title"], shown["task"]["title"]) == ("kyra's alone", "below luke's")
    assert (await work.run(listed, role=Role.AGENT))["deadLetters"]["nodes"] == [shown]
    looked = "query ($id: ID!, $task: ID!) { node(id: $id) { id } task(id: $task) { deadLetters { totalCount } } }"
    sought = await work.run(looked, {"id": hidden["id"], "task": hidden["task"]["id"]}, role=Role.AGENT)
    assert sought == {"node": None, "task": {"deadLetters": {"totalCount": 0}}}


async def test_a_person_retries_and_reassigns(work: Parley, delegate: Do, claim: Do, do: Do) -> None:
    made = await delegate()
    task = made["task"]["id"]
    held = await claim()
    await do("failTask", taskId=task, claimToken=held["claimToken"], message="Broken.")
    assert (await claim())["task"] is None

    retried = await do("retryTask", Role.OPERATOR, taskId=task, reason="it is up again")
    ada = await _agent(work, "ada")
    moved = await do("reassignTask", Role.OPERATOR, taskId=task, assigneeId=ada)

    assert (retried["task"]["status"], retried["task"]["attemptsMade"]) == ("PENDING", 1)
    assert moved["task"]["assignee"] == {"slug": "ada"}
    assert (await claim())["task"] is None


async def test_one_tool_call_too_many_fails_the_task(work: Parley, delegate: Do, claim: Do, do: Do) -> None:
    await delegate(maxToolCalls=1, tools=["search"])
    held = await claim()
    mine = {"taskId": held["task"]["id"], "claimToken": held["claimToken"]}

    assert (await do("recordToolCall", **mine, name="write"))["__typename"] == "AuthorityExceeded"
    assert (await do("recordToolCall", **mine, name="search"))["task"]["status"] == "IN_PROGRESS"
    assert (await do("recordToolCall", **mine, name="search"))["task"]["status"] == "FAILED"


async def test_a_claim_waits_for_work_without_holding_a_connection(work: Parley, delegate: Do, claim: Do) -> None:
    started = time.monotonic()
    waiting = asyncio.create_task(claim(waitSeconds=MOST_WAIT_S))
    await asyncio.sleep(0.5)
    held = await work.value(
        "select count(*) from pg_stat_activity where datname = current_database() and state = 'idle in transaction'"
    )
    await delegate()
    claimed = await waiting

    assert held == 0
    assert claimed["task"]["title"] == "Compare caches"
    assert time.monotonic() - started < MOST_WAIT_S


async def test_nothing_is_claimed_for_a_client_that_left_while_it_waited(work: Parley, delegate: Do) -> None:
    asked = "select count(*) from pg_stat_activity where query like '%task.waiting_for = 0%and agent.status%'"
    answered = metrics.REQUESTS.labels("http", "mutation", "ok")._value
    before = answered.get()
    async with httpx.AsyncClient(base_url=work.url) as client:
        mine = {"Authorization": f"Bearer {work.home.secrets[Role.AGENT]}"}
        waiting = "mutation { claimTask(input: {waitSeconds: 10}) { __typename } }"
        posting = asyncio.create_task(client.post("/graphql", json={"query": waiting}, headers=mine))
        async with asyncio.timeout(10):
            while await work.value(asked) < 2:  # noqa: ASYNC110  itself, and that of the claim
                await asyncio.sleep(0.02)
        posting.cancel()
        await asyncio.wait([posting])

    await delegate()

    async with asyncio.timeout(10):
        while answered.get() < before + 2:  # noqa: ASYNC110
            await asyncio.sleep(0.02)
    assert await work.value("select status from task") == "pending"


async def test_a_managed_agent_is_not_claimed_for(work: Parley, claim: Do) -> None:
    async with work.transaction() as session:
        await session.execute(text("update agent set runtime = 'managed'"))

    assert (await claim())["code"] == "CONFLICT"


@pytest.mark.parametrize(
    "given", [{"leaseSeconds": 4}, {"leaseSeconds": 301}, {"waitSeconds": 11}, {"waitSeconds": -1}]
)
async def test_a_claim_out_of_bounds_is_refused(claim: Do, given: dict[str, int]) -> None:
    assert (await claim(**given))["code"] == "INVALID_INPUT"


async def _agent(work: Parley, slug: str) -> str:
    made = await work.run(
        "mutation ($s: String!) { createAgent(input: {slug: $s, name: $s, runtime: EXTERNAL}) "
        "{ ... on AgentPayload { agent { id } } } }",
        {"s": slug},
    )
    return str(made["createAgent"]["agent"]["id"])


async def _counts(work: Parley) -> Any:
    return await work.value(
        "select concat((select count(*) from task), ' ', (select sum(reserved) from budget_account), ' ',"
        " (select count(*) from event where task_id is not null), ' ', (select count(*) from tool_call))"
    )
