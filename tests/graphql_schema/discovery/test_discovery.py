"""Who is free, who can do it, who could answer, and who did well, over GraphQL."""

from __future__ import annotations

from typing import Any

import pytest

from app.agents.models import AgentStatus
from app.auth.roles import Role
from app.tasks.availability import MAX_OPEN_TASKS
from tests.fixtures.desk import Desk
from tests.fixtures.parley import Parley
from tests.graphql_schema.discovery.conftest import AVAILABILITY, EXPERTS, RECOMMEND, RECORD, Decided


def skills(*names: str) -> list[dict[str, str]]:
    return [{"name": name} for name in names]


async def availability(parley: Parley) -> dict[str, Any]:
    found = await parley.run(f"{{ agents {{ nodes {{ slug {AVAILABILITY} }} }} }}", role=Role.ANALYST)
    return {agent["slug"]: agent["availability"] for agent in found["agents"]["nodes"]}


def availed(tasks: int, wait: int | None, reason: str | None = None) -> dict[str, Any]:
    return {
        "available": reason is None, "activeTasks": tasks, "activeConversations": 0, "estimatedWaitSeconds": wait,
        "reason": reason,
    }  # fmt: skip


async def test_availability_follows_status_and_open_tasks(parley: Parley, desk: Desk) -> None:
    await desk.agent("old")
    done = await desk.complete(await desk.working("kyra", "luke"))
    await desk.sql("update task_attempt set started_at = ended_at - interval '10.4 seconds'")
    first = [await desk.delegate("kyra", "luke") for _ in range(MAX_OPEN_TASKS - 1)]
    await desk.set_status("old", AgentStatus.ARCHIVED)

    assert await availability(parley) == {
        "kyra": availed(0, 0), "luke": availed(MAX_OPEN_TASKS - 1, 42), "old": availed(0, None, "ARCHIVED"),
    }  # fmt: skip

    await desk.delegate("kyra", "luke")
    await desk.delegate("luke", "kyra")
    await desk.set_status("kyra", AgentStatus.PAUSED)
    assert await availability(parley) == {
        "kyra": availed(1, None, "PAUSED"), "luke": availed(MAX_OPEN_TASKS, 52, "AT_CAPACITY"),
        "old": availed(0, None, "ARCHIVED"),
    }  # fmt: skip

    await desk.cancel(first[0])
    await desk.sql("update task_attempt set outcome = 'failed' where task_id = :id", id=done.id)
    assert (await availability(parley))["luke"] == availed(MAX_OPEN_TASKS - 1, None)


async def test_experts_are_those_who_hold_most_and_are_free(parley: Parley, desk: Desk) -> None:
    await desk.agent("ada", skills=skills("SQL", "Statistics"))
    await desk.agent("bob", skills=skills("sql", "Plumbing"))
    await desk.agent("cleo", skills=skills("Sql"))
    await desk.agent("full", skills=skills("SQL"))
    await desk.agent("paused", skills=skills("SQL", "Statistics"))
    await desk.set_status("paused", AgentStatus.PAUSED)
    for assignee, count in (("full", MAX_OPEN_TASKS), ("bob", 1)):
        for _ in range(count):
            await desk.delegate("kyra", assignee)

    found = (await parley.run(EXPERTS, {"skills": ["SQL", "statistics", "sql"]}, role=Role.AGENT))["findExperts"]

    assert [one["agent"]["slug"] for one in found] == ["ada", "cleo", "bob", "full"]
    ada, cleo, bob, full = found
    assert (ada["coverage"], ada["missingSkills"]) == (1, [])
    assert ada["matchedSkills"] == [
        {"required": "SQL", "heldAs": "SQL"}, {"required": "statistics", "heldAs": "Statistics"},
    ]  # fmt: skip
    assert (cleo["coverage"], cleo["missingSkills"]) == (0.5, ["statistics"])
    assert [one["activeTasks"] for one in found] == [0, 0, 1, MAX_OPEN_TASKS]
    assert [one["available"] for one in found] == [True, True, True, False]
    assert 0 == cleo["load"] < bob["load"] < full["load"] < 1
    assert full["agent"]["availability"] == availed(MAX_OPEN_TASKS, None, "AT_CAPACITY")

    given = {"skills": ["SQL"], "exclude": [ada["agent"]["id"], parley.other.agent_id], "first": 2}
    left = (await parley.run(EXPERTS, given))["findExperts"]
    assert [one["agent"]["slug"] for one in left] == ["cleo", "bob"]
    assert (await parley.run(EXPERTS, {"skills": ["heart surgery"]}))["findExperts"] == []


async def test_recommendation_goes_by_meaning_and_is_empty_when_nothing_matches(parley: Parley, desk: Desk) -> None:
    cooking = {"name": "Recipes", "description": "Suggests dishes from what is in the kitchen, with amounts and times"}
    await desk.agent("chef", tagline="Dinner first.", personality="Generous. " * 20, skills=[cooking])
    await desk.agent("ada", skills=skills("SQL", "Statistics"))
    ask = {"query": "What could I make for supper with leeks and two eggs?"}

    assert [one["agent"]["slug"] for one in (await parley.run(RECOMMEND, ask))["recommendAgents"]] == ["chef"]
    [chef] = (await parley.run(RECOMMEND, ask, role=Role.ANALYST))["recommendAgents"]
    assert chef["matchingSkills"] == ["Recipes"]
    assert (chef["tagline"], chef["personality"]) == ("Dinner first.", ("Generous. " * 20)[:100])
    assert 0.35 <= chef["confidence"] <= 1
    assert (await parley.run(RECOMMEND, {"query": "qwzrtp"}))["recommendAgents"] == []

    await desk.set_status("chef", AgentStatus.PAUSED)
    assert (await parley.run(RECOMMEND, ask))["recommendAgents"] == []


BAD = [
    (EXPERTS, {"skills": []}, "requiredSkills"),
    (EXPERTS, {"skills": ["x"] * 1_000}, "requiredSkills"),
    (EXPERTS, {"skills": ["SQL", "  "]}, "requiredSkills.1"),
    (EXPERTS, {"skills": ["SQL"], "exclude": ["task_" + "0" * 32]}, "exclude.0"),
    (EXPERTS, {"skills": ["SQL"], "exclude": ["agent_" + "0" * 32] * 101}, "exclude"),
    (RECOMMEND, {"query": " "}, "query"),
    (RECOMMEND, {"query": "x" * 10_001}, "query"),
    ('{ agents { nodes { trackRecord(since: "-P366D") { attempts } } } }', {}, "since"),
    ('{ agents { nodes { trackRecord(since: "P1D") { attempts } } } }', {}, "since"),
]
TOO_MANY = [(EXPERTS, {"skills": ["SQL"], "first": 51}), (RECOMMEND, {"query": "x", "first": 0})]


async def test_bad_input_is_refused_with_its_place(parley: Parley) -> None:
    for operation, variables, place in BAD:
        [error] = await parley.errors(operation, variables)
        assert error["extensions"]["code"] == "INVALID_INPUT", error
        assert [problem["path"] for problem in error["extensions"]["problems"]] == [place]
    for operation, variables in TOO_MANY:
        [error] = await parley.errors(operation, variables)
        assert error["extensions"] == {"code": "INVALID_ARGUMENT", "argument": "first"}


async def test_track_record_counts_what_lies_in_the_window(parley: Parley, desk: Desk, decided: Decided) -> None:
    await decided(["luke", "kyra"], stars=[5, 2], response_ms=1_000, actual_cost="0.25")
    await decided(["luke"], days=20, stars=[4], response_ms=3_000)
    await decided(["kyra", "luke"], days=2)
    await decided(["luke"], days=40, stars=[1], response_ms=99_000, actual_cost="9")
    for seconds in (1, 2, 3):
        task = await desk.complete(await desk.working("kyra", "luke"), cost="0.10")
        await desk.sql(
            "update task_attempt set started_at = ended_at - make_interval(secs => :s) where task_id = :id",
            s=seconds, id=task.id,
        )  # fmt: skip
    await desk.sql(
        "insert into tool_call (id, team_id, task_id, attempt_id, name) "
        "select gen_random_uuid(), team_id, task_id, id, 'look' from task_attempt where task_id = :id",
        id=task.id,
    )
    await desk.fail(await desk.working("kyra", "luke"), may_pass=False, cost="0.05")
    await desk.cancel(await desk.delegate("kyra", "luke"))
    record = f"query ($since: Moment) {{ agents {{ nodes {{ slug trackRecord(since: $since) {{ {RECORD} }} }} }} }}"

    async def read(since: str | None = None) -> dict[str, Any]:
        found = await parley.run(record, {"since": since}, role=Role.ANALYST)
        return {agent["slug"]: agent["trackRecord"] for agent in found["agents"]["nodes"]}

    month = await read()
    assert month["luke"] == {
        "since": month["luke"]["since"], "firstChoices": 2, "selections": 3, "ratings": 3, "meanStars": 11 / 3,
        "tasksEnded": 4, "tasksCompleted": 3, "successShare": 0.75, "attempts": 4, "medianAttemptSeconds": 2,
        "workSeconds": pytest.approx(6, abs=5), "toolCalls": 1,
        "p95AttemptSeconds": pytest.approx(2.9), "attemptCost": 0.35, "medianResponseSeconds": 2,
        "p95ResponseSeconds": pytest.approx(2.9), "answerCost": 0.25,
    }  # fmt: skip
    nothing = dict.fromkeys(
        ("meanStars", "successShare", "medianAttemptSeconds", "p95AttemptSeconds", "medianResponseSeconds",
         "p95ResponseSeconds")
    )  # fmt: skip
    zero = dict.fromkeys(
        (
            "ratings",
            "tasksEnded",
            "tasksCompleted",
            "attempts",
            "workSeconds",
            "toolCalls",
            "attemptCost",
            "answerCost",
        ),
        0,
    )
    since = month["kyra"]["since"]
    assert month["kyra"] == {"since": since, "firstChoices": 1, "selections": 2, **zero, **nothing}
    week, year = (await read("-P7D"))["luke"], (await read("-P365D"))["luke"]
    assert (week["firstChoices"], week["selections"], week["meanStars"]) == (1, 2, 3.5)
    assert (year["firstChoices"], year["ratings"], year["answerCost"]) == (3, 4, 9.25)
