"""A task keeps to its contract: its input is checked before it exists, its output before it counts."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from uuid import uuid4

import pytest
from sqlalchemy import text

from app.config import Settings
from app.contracts import service as contracts
from app.contracts.models import Contract
from app.contracts.spec import parse_contract
from app.errors import FieldProblem, InvalidInput, NotFound
from app.tasks import revival, transitions
from app.tasks.errors import ClaimLost
from app.tasks.models import DeadLetterState, Task, TaskStatus
from app.tasks.outputs import Checked
from app.tasks.run import Made, Run
from tests.fixtures.desk import ACTOR, Desk

INPUT = {"review_scope": {"files": ["a.py"]}, "criteria": {"must_pass_tests": True, "must_pass_type_check": False}}
FINDING = {"finding_id": "f1", "severity": "minor", "category": "style", "file": "a.py", "description": "Too long."}
OUTPUT: dict[str, Any] = {
    "verdict": "approved",
    "findings": [FINDING],
    "verification": {"tests_passed": True, "type_check_passed": True},
    "summary": "Good.",
}
REVIEW = {"contract": "reviewer", "contract_input": INPUT}


async def complete(desk: Desk, task: Task, output: dict[str, Any] | None, checked: Checked | None = None) -> Task:
    async with desk.transaction() as session:
        return await transitions.complete(
            session, team_id=desk.team_id, task_id=task.id, claim_token=task.claim_token, result="Done.",
            output=output, actor=ACTOR, checked=checked,
        )  # type: ignore[arg-type] # fmt: skip


async def save(desk: Desk, **schemas: Any) -> Contract:
    async with desk.transaction() as session:
        spec = parse_contract({"name": "report", **schemas})
        return await contracts.save(session, team_id=desk.team_id, spec=spec, actor=ACTOR)


@pytest.mark.parametrize(
    ("given", "paths"),
    [
        ({**REVIEW, "contract_input": None}, ["contractInput"]),
        ({**REVIEW, "contract_input": [1]}, ["contractInput"]),
        ({**REVIEW, "contract_input": {"a": "x" * 100_001}}, ["contractInput"]),
        ({**REVIEW, "contract_input": {"a": "\0"}}, ["contractInput.a"]),
        ({**REVIEW, "contract_input": INPUT | {"review_scope": {"files": [], "focus_areas": ["taste"]}}},
         ["contractInput.review_scope.files", "contractInput.review_scope.focus_areas.0"]),
        ({"contract_input": INPUT}, ["contractInput"]),
    ],
)  # fmt: skip
async def test_an_input_that_does_not_fit_creates_nothing(desk: Desk, given: dict[str, Any], paths: list[str]) -> None:
    with pytest.raises(InvalidInput) as refused:
        await desk.delegate("kyra", "luke", **given)

    assert sorted(problem["path"] for problem in refused.value.problems) == paths
    assert (await desk.count(), await desk.reserved()) == (0, 0)


@pytest.mark.parametrize("name", ["poet", "", "a\0b"])
async def test_an_unknown_contract_is_not_found(desk: Desk, name: str) -> None:
    with pytest.raises(NotFound, match=f"no contract '{name}'"):
        await desk.delegate("kyra", "luke", contract=name)

    assert await desk.count() == 0


async def test_a_fitting_output_completes(desk: Desk) -> None:
    task = await desk.working("kyra", "luke", **REVIEW)

    done = await complete(desk, task, OUTPUT)

    assert (done.status.value, done.output, done.contract_input) == ("completed", OUTPUT, INPUT)


@pytest.mark.parametrize(
    ("output", "message"),
    [
        (None, "output: is missing"),
        (OUTPUT | {"findings": [{**FINDING, "severity": "bad"}], "verdict": "fine"},
         "verdict: must be one of approved, changes_requested, rejected; "
         "findings.0.severity: must be one of critical, major, minor, suggestion"),
    ],
)  # fmt: skip
async def test_a_misfit_is_a_failed_attempt_for_good_that_names_the_fields(
    desk: Desk, output: dict[str, Any] | None, message: str
) -> None:
    task = await desk.working("kyra", "luke", **REVIEW)

    failed = await complete(desk, task, output)

    prefix = "The output does not fit version 1 of 'reviewer': "
    assert (failed.status.value, failed.error_code) == ("failed", "CONTRACT_VIOLATED")
    assert failed.error_message is not None
    assert sorted(failed.error_message.removeprefix(prefix).split("; ")) == sorted(message.split("; "))
    assert (failed.result, failed.output, await desk.reserved()) == (None, None, 0)
    assert [letter.reason for letter in await desk.letters()] == [f"CONTRACT_VIOLATED: {failed.error_message}"]
    assert (await desk.kinds(task))[-2:] == ["task.failed", "task.dead_lettered"]


@pytest.fixture
def checked_unheld(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The outputs that were checked; each check fails where anybody holds a task meanwhile."""
    checked, true = [], contracts.problems_with

    async def look(schema: dict[str, Any], output: dict[str, Any] | None) -> list[FieldProblem]:
        async with desk.transaction() as session:
            await session.execute(text("select from task for update nowait"))
        checked.append(output)
        return await true(schema, output)

    monkeypatch.setattr(contracts, "problems_with", look)
    return checked


@pytest.mark.parametrize(
    ("output", "status"), [(OUTPUT, TaskStatus.COMPLETED), (OUTPUT | {"verdict": "fine"}, TaskStatus.FAILED)]
)
async def test_a_run_has_its_output_checked_before_it_holds_the_task(
    desk: Desk, checked_unheld: list[Any], output: dict[str, Any], status: TaskStatus
) -> None:
    task = await desk.working("kyra", "luke", **REVIEW)

    assert await Run(task, desk.transaction, ACTOR).complete(Made("Done.", output)) is status

    assert checked_unheld == [output]


async def test_what_a_lost_claim_brings_is_not_checked(desk: Desk, checked_unheld: list[Any]) -> None:
    task = await desk.working("kyra", "luke", **REVIEW)
    await desk.cancel(task)

    with pytest.raises(ClaimLost):
        await Run(task, desk.transaction, ACTOR).complete(Made("Done.", OUTPUT))

    assert checked_unheld == []


@pytest.mark.parametrize("other", ["output", "contract", "schema"])
async def test_a_check_of_anything_else_does_not_count(desk: Desk, other: str) -> None:
    task = await desk.working("kyra", "luke", **REVIEW)
    misfit = OUTPUT | {"verdict": "fine"}
    fine = Checked(schema=None, contract_id=task.contract_id, output=misfit, violation=None)
    changed = {"output": {"output": OUTPUT}, "contract": {"contract_id": uuid4()}, "schema": {"schema": {}}}[other]

    failed = await complete(desk, task, misfit, checked=replace(fine, **changed))

    assert failed.error_code == "CONTRACT_VIOLATED"


async def test_a_task_keeps_its_version_through_new_ones_deletion_and_retry(desk: Desk, settings: Settings) -> None:
    loose = await save(desk, output_schema={"type": "object"})
    task = await desk.working("kyra", "luke", contract="report")
    await save(desk, output_schema={"type": "object", "required": ["must"]})
    async with desk.transaction() as session:
        await contracts.delete(session, team_id=desk.team_id, name="report", actor=ACTOR)
    with pytest.raises(NotFound):
        await desk.delegate("kyra", "luke", contract="report")
    await desk.fail(task, may_pass=False)
    async with desk.transaction() as session:
        await revival.retry(session, team_id=desk.team_id, task_id=task.id, settings=settings, actor=ACTOR)

    held = await desk.claim("luke")
    assert held is not None
    done = await complete(desk, held, {"anything": 1})

    assert (done.status.value, done.contract_id) == ("completed", loose.id)


async def test_a_replay_keeps_the_version_unless_a_contract_is_named(desk: Desk, settings: Settings) -> None:
    first = await save(desk, input_schema={"type": "object", "required": ["a"]})
    made = await desk.working("kyra", "luke", contract="report", contract_input={"a": 1})
    second = await save(desk, input_schema={"type": "object", "required": ["b"]})

    async def replay(**changes: Any) -> Task:
        letter = (await desk.letters())[-1]
        async with desk.transaction() as session:
            made = await revival.replay(
                session, team_id=desk.team_id, letter_id=letter.id, edits={}, assignee_id=None, settings=settings,
                actor=ACTOR, **changes,
            )  # fmt: skip
        return made[1]

    await desk.fail(made, may_pass=False)
    kept = await replay()
    held = await desk.claim("luke")
    assert held is not None
    await desk.fail(held, may_pass=False)
    with pytest.raises(InvalidInput, match=r"contractInput\.b: is missing"):
        await replay(contract="report")
    assert (await desk.letters())[-1].state is DeadLetterState.OPEN
    changed = await replay(contract="report", contract_input={"b": 2})

    assert (kept.contract_id, kept.contract_input) == (first.id, {"a": 1})
    assert (changed.contract_id, changed.contract_input) == (second.id, {"b": 2})
