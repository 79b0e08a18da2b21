"""The queue of everything that needs a person, over GraphQL: asked, seen, followed, assigned, answered, refused."""

from __future__ import annotations

import asyncio
from typing import Any

from app.auth.roles import Role
from app.ids import Prefix, to_global
from tests.fixtures.parley import Parley
from tests.fixtures.streams import Connect
from tests.graphql_schema.tasks.conftest import Do

ASK = """
mutation ($input: AskPersonInput!) {
  askPerson(input: $input) {
    __typename
    ... on AskPersonPayload {
      eventCursor task { status waitingFor } attentionItem { id status answer holdsTask agent { slug } }
    }
    ... on Refusal { code message }
    ... on InvalidInput { problems { path } }
  }
}
"""
ANSWER = """
mutation ($input: AnswerAttentionInput!) {
  answerAttention(input: $input) {
    __typename
    ... on AttentionPayload { attentionItem { status option answer closedBy task { status waitingFor } } }
    ... on Refusal { code message }
    ... on AlreadyAnswered { status answeredBy option answer }
    ... on InvalidInput { problems { path } }
    ... on Forbidden { permission }
  }
}
"""
ASSIGN = """
mutation ($input: AssignAttentionInput!) {
  assignAttention(input: $input) {
    __typename ... on AttentionPayload { attentionItem { assignee } } ... on Refusal { code }
  }
}
"""
QUEUE = """
query ($where: AttentionItemFilter) {
  attention(where: $where) {
    totalCount
    nodes {
      id kind status title options assignee deadline defaultAnswer task { title } deadLetter { status } agent { slug }
      budget { scope } conversation { id } collaboration { id }
      history { nodes { action actor note } }
    }
  }
}
"""
FAIL = "mutation ($input: FailTaskInput!) { failTask(input: $input) { __typename } }"
FOLLOW = """
subscription ($after: Cursor) {
  attentionEvents(after: $after) {
    __typename ... on Event { kind actor attentionItem { id status answer } }
    ... on CaughtUp { cursor }
  }
}
"""


async def ask(work: Parley, role: Role = Role.AGENT, **given: Any) -> Any:
    wanted = {"question": "Which market?", **given}
    return (await work.run(ASK, {"input": wanted}, role=role))["askPerson"]


async def answer(work: Parley, item: str, role: Role = Role.OPERATOR, **given: Any) -> Any:
    return (await work.run(ANSWER, {"input": {"attentionId": item, **given}}, role=role))["answerAttention"]


async def test_an_agent_of_ones_own_asks_waits_and_goes_on(
    work: Parley, delegate: Do, claim: Do, connect: Connect
) -> None:
    await delegate()
    held = await claim()
    which = {"taskId": held["task"]["id"], "claimToken": held["claimToken"]}
    asked = await ask(work, **which, context="It matters.", deadlineSeconds=3_600, defaultAnswer="France")
    item = asked["attentionItem"]["id"]
    nothing = await claim()
    assigned = await work.run(ASSIGN, {"input": {"attentionId": item, "assignee": "Mina", "note": "she knows"}})
    (seen,) = (await work.run(QUEUE, {"where": {"status": {"eq": "OPEN"}, "assignee": {"eq": "Mina"}}}))["attention"][
        "nodes"
    ]
    own = (await work.run(QUEUE, {}, role=Role.AGENT))["attention"]["totalCount"]
    said = await answer(work, item, text="Spain.", person="Mina")
    again = await claim()
    known = await ask(work, taskId=again["task"]["id"], claimToken=again["claimToken"])
    async with connect(secret=work.home.secrets[Role.ANALYST]) as socket:
        await socket.subscribe(FOLLOW, {"after": asked["eventCursor"]})
        told = []
        while len(told) < 2:
            # What it asked itself comes again where an older transaction was still running then.
            if (one := await socket.item())["kind"] != "ATTENTION_OPENED":
                told.append(one)

    assert asked["task"] == {"status": "PENDING", "waitingFor": 1}
    assert asked["attentionItem"] == {
        "id": item, "status": "OPEN", "answer": None, "holdsTask": True, "agent": {"slug": "luke"},
    }  # fmt: skip
    assert nothing["task"] is None
    assert assigned["assignAttention"]["attentionItem"] == {"assignee": "Mina"}
    assert (seen["id"], seen["kind"], seen["defaultAnswer"], own) == (item, "QUESTION", "France", 1)
    assert [(step["action"], step["note"]) for step in seen["history"]["nodes"]] == [
        ("OPENED", ""), ("ASSIGNED", "Mina. she knows"),
    ]  # fmt: skip
    assert said["attentionItem"] == {
        "status": "ANSWERED", "option": None, "answer": "Spain.", "closedBy": "Mina",
        "task": {"status": "PENDING", "waitingFor": 0},
    }  # fmt: skip
    assert (known["attentionItem"]["answer"], known["task"]["status"]) == ("Spain.", "IN_PROGRESS")
    assert [one["kind"] for one in told] == ["ATTENTION_ASSIGNED", "ATTENTION_ANSWERED"]
    assert told[1]["actor"] == "Mina"
    assert told[1]["attentionItem"] == {"id": item, "status": "ANSWERED", "answer": "Spain."}


async def test_of_two_people_one_wins_and_the_other_is_told(work: Parley) -> None:
    asked = await ask(work, Role.INTEGRATOR, kind="APPROVAL", question="Shall we ship?")
    item = asked["attentionItem"]["id"]

    ends = await asyncio.gather(
        answer(work, item, option="approve", person="Mina"), answer(work, item, option="reject", person="Omar")
    )
    assigned = await work.run(ASSIGN, {"input": {"attentionId": item, "assignee": "Zoe"}})

    won, lost = sorted(ends, key=lambda end: end["__typename"], reverse=True)
    kept = won["attentionItem"]
    assert (won["__typename"], lost["__typename"]) == ("AttentionPayload", "AlreadyAnswered")
    assert (lost["status"], lost["answeredBy"], lost["option"]) == ("ANSWERED", kept["closedBy"], kept["option"])
    assert assigned["assignAttention"]["code"] == "ALREADY_ANSWERED"


async def test_a_dead_letter_and_a_budget_are_decided_from_the_queue(work: Parley, delegate: Do, claim: Do) -> None:
    await work.run("mutation { setTeamBudgets(input: {dayUsd: 10}) { __typename } }")
    await delegate(budgetUsd=9)
    held = await claim()
    failing = {"taskId": held["task"]["id"], "claimToken": held["claimToken"], "message": "No.", "mayPass": False}
    await work.run(FAIL, {"input": failing}, role=Role.AGENT)
    found = (await work.run(QUEUE))["attention"]["nodes"]
    queue = {one["kind"]: one for one in found}
    raise_it = {"option": "raise", "capUsd": 40}

    refused = await answer(work, queue["BUDGET_RAISE"]["id"], **raise_it)
    raised = await answer(work, queue["BUDGET_RAISE"]["id"], Role.ADMIN, **raise_it)
    replayed = await answer(work, queue["DEAD_LETTER"]["id"], option="replay", text="Once more.")
    late = await work.run(
        "mutation ($id: ID!) { discardDeadLetter(input: {deadLetterId: $id}) { __typename } }",
        {"id": (await work.run("{ deadLetters { nodes { id } } }"))["deadLetters"]["nodes"][0]["id"]},
    )
    budget = (await work.run("{ team { dayBudget { cap } } deadLetters { nodes { status note } } }")) | {}

    assert (refused["__typename"], refused["permission"]) == ("Forbidden", "CONFIGURE_TEAM")
    assert queue["BUDGET_RAISE"]["budget"] == {"scope": "TEAM_DAY"}
    assert raised["attentionItem"]["option"] == "raise"
    assert replayed["attentionItem"]["status"] == "ANSWERED"
    assert late["discardDeadLetter"]["__typename"] == "Conflict"
    assert budget["team"]["dayBudget"]["cap"] == 40
    assert budget["deadLetters"]["nodes"] == [{"status": "REPLAYED", "note": "Once more."}]


async def test_who_may_not_is_refused_and_nothing_changes(work: Parley, delegate: Do, claim: Do) -> None:
    await delegate()
    held = await claim()
    which = {"taskId": held["task"]["id"], "claimToken": held["claimToken"]}
    item = (await ask(work, Role.INTEGRATOR))["attentionItem"]["id"]
    before = await work.value("select count(*) from event where team_id = $1", work.home.id)

    codes = [
        (await answer(work, item, Role.AGENT, text="Me!"))["code"],
        (await answer(work, item, Role.ANALYST, text="Me!"))["code"],
        (await answer(work, item))["problems"],
        (await answer(work, item, text="x" * 10_001))["problems"],
        (await answer(work, item, option="yes"))["problems"],
        (await answer(work, item, text="x", person=""))["problems"],
        (await answer(work, to_global(Prefix.ATTENTION, work.home.id), text="x"))["code"],
        (await ask(work, Role.ANALYST))["code"],
        (await ask(work, taskId=which["taskId"]))["problems"],
        (await ask(work, **(which | {"claimToken": str(work.home.id)})))["code"],
        (await ask(work, agentId=to_global(Prefix.AGENT, work.home.kyra.id)))["code"],
        (await ask(work, Role.ADMIN, agentId=to_global(Prefix.AGENT, work.home.id)))["code"],
        (await ask(work, question="", options=["a", "a"]))["problems"],
        (await ask(work, kind="BUDGET_RAISE"))["problems"],
        (await ask(work, deadlineSeconds=2_592_001))["problems"],
    ]
    seen = (await work.run(QUEUE, role=Role.AGENT))["attention"]["totalCount"]

    path = [[{"path": name}] for name in ("option", "text", "option", "person", "claimToken")]
    assert codes[:10] == [
        "FORBIDDEN", "FORBIDDEN", *path[:4], "NOT_FOUND", "FORBIDDEN", path[4], "CLAIM_LOST",
    ]  # fmt: skip
    assert codes[10:12] == ["FORBIDDEN", "NOT_FOUND"]
    assert all(isinstance(one, list) and one for one in codes[12:])
    assert seen == 0, "an agent's key sees what its agent asked"
    assert await work.value("select count(*) from event where team_id = $1", work.home.id) == before
