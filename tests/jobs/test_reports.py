"""Reports from request to document: each type, the repair, what fails, what is refused, crashes and races."""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress
from decimal import Decimal
from typing import Any

import pytest
from sqlalchemy.ext.asyncio import AsyncSession

from app.agents.models import Agent, AgentStatus
from app.budgets.errors import BudgetExhausted
from app.config import Settings
from app.db.engine import Database
from app.errors import Conflict, NotFound
from app.ids import Prefix, new_id, to_global
from app.inference.providers import Providers
from app.managed.execution import Execution
from app.memories.models import MemoryKind
from app.reports import transitions
from app.reports.models import ReportFormat, ReportStatus, ReportType, SectionKind
from app.reports.service import MOST_OPEN
from app.reports.templates import TEMPLATES
from app.tasks.errors import AgentUnavailable
from app.tasks.models import TaskPurpose, TaskStatus
from app.teams.flags import FeatureDisabled
from tests.fixtures.desk import Desk
from tests.fixtures.follow_ups import run_follow_ups
from tests.fixtures.reports import BAD, GOOD, Reports
from tests.jobs.conftest import Workers
from tests.jobs.test_tasks import until_status

FORMATS = list(ReportFormat)
SAID = "The login leaks passwords. It takes 300 ms at p95. Valkey is faster than Redis. Frankfurt is near the users."


@pytest.fixture
def reports(desk: Desk) -> Reports:
    return Reports(desk)


async def test_each_type_from_request_to_validated_document_on_the_offline_model(
    reports: Reports, desk: Desk, settings: Settings, database: Database, workers: Workers
) -> None:
    await desk.agent("luke")
    asked = []
    for number, kind in enumerate(ReportType):
        optional = TEMPLATES[kind].optional[:1]
        form = FORMATS[number % len(FORMATS)]
        asked.append(await reports.request("luke", kind, format=form, sections=optional, context=SAID))
    async with workers(Execution(settings, database, Providers(settings))):
        for report in asked:
            await until_status(desk, await reports.task(report), TaskStatus.COMPLETED)
    await reports.run_follow_ups()

    for report in asked:
        done, sections = await reports.read(report), await reports.sections(report)
        template = TEMPLATES[done.type]
        assert (done.status, done.problems, done.repair_task_id) == (ReportStatus.VALID, [], None), done.type
        assert [one.name for one in sections] == [*template.required, template.optional[0]]
        assert all(one.content and one.kind is SectionKind.REQUIRED for one in sections)
    remembered = await reports.memories()
    assert {one.kind for one in remembered} == {MemoryKind.PROCEDURAL}
    assert len(remembered) == len(asked)
    assert await reports.kinds() == ["report.requested"] * 8 + ["report.completed"] * 8


async def test_the_task_carries_the_template_and_a_tier(reports: Reports, desk: Desk) -> None:
    await reports.request("luke", sections=["security_notes"])
    await reports.request("ada", ReportType.SECURITY_AUDIT)
    await desk.agent("luke")
    review, audit = await desk.claim("luke"), await desk.claim("ada")

    assert review is not None
    assert audit is not None
    assert (review.purpose, review.type.value, review.model_tier) == (TaskPurpose.REPORT, "review", 1)
    assert audit.model_tier == 2
    for told in ("severity_breakdown", "security_notes", "test_coverage", "src/auth/", "At most 10 sections"):
        assert told in review.instructions


async def test_what_is_missing_is_named_and_repaired_once(reports: Reports, desk: Desk) -> None:
    mended = await reports.request("luke", context="All of it.", budget_usd="0.017")
    given_up = await reports.request("ada")

    await reports.answer("luke", BAD)
    half = await reports.read(mended)
    assert (half.status, half.missing_sections) == (ReportStatus.REPAIRING, ["severity_breakdown", "findings"])
    repair = await reports.write("luke", GOOD)
    assert repair.id == half.repair_task_id
    assert "The section severity_breakdown (Severity breakdown) is missing." in repair.instructions
    assert "The section findings (Findings) says nothing." in repair.instructions
    assert "All of it." in repair.context
    assert (await desk.budget(repair)).cap == Decimal("0.017")
    assert BAD.strip() in repair.context
    await reports.run_follow_ups()
    done = await reports.read(mended)
    assert (done.status, done.missing_sections, done.problems) == (ReportStatus.VALID, [], [])
    assert [one.name for one in await reports.sections(mended)] == list(TEMPLATES[ReportType.CODE_REVIEW].required)

    await reports.answer("ada", "No idea.")
    await reports.answer("ada", BAD)
    lost = await reports.read(given_up)
    assert (lost.status, lost.missing_sections) == (ReportStatus.INVALID, ["severity_breakdown", "findings"])
    assert len(lost.problems) == 2
    assert [one.name for one in await reports.sections(given_up)] == ["summary", "findings", "recommendations"]
    assert await desk.open_count() == 0
    assert await desk.reserved() == 0
    assert len(await reports.memories()) == 1
    assert [kind for kind in await reports.kinds() if kind != "report.requested"] == [
        "report.repair_requested", "report.completed", "report.repair_requested", "report.invalid",
    ]  # fmt: skip


async def test_more_sections_than_asked_for_are_a_problem(reports: Reports) -> None:
    report = await reports.request("luke", max_sections=4)
    await reports.answer("luke", GOOD + "## Thanks\nTo all.\n")

    half = await reports.read(report)

    assert half.problems == ["There are 5 sections; at most 4 were asked for."]
    assert [one.kind for one in await reports.sections(report)][-1] is SectionKind.ADDITIONAL


async def test_a_report_that_nobody_writes_fails(reports: Reports, desk: Desk) -> None:
    failing, cancelled = await reports.request("luke"), await reports.request("ada")
    task = await desk.claim("luke")
    assert task is not None
    await desk.fail(task, may_pass=False)
    await desk.cancel(await reports.task(cancelled))
    await reports.run_follow_ups()

    assert [(await reports.read(one)).status for one in (failing, cancelled)] == [ReportStatus.FAILED] * 2
    assert (await reports.read(failing)).problems == ["FAILED: It broke."]


async def test_a_repair_that_cannot_be_ordered_or_fails_leaves_the_first_version(reports: Reports, desk: Desk) -> None:
    away, failing = await reports.request("luke"), await reports.request("ada")
    await reports.write("luke", BAD)
    await desk.set_status("luke", AgentStatus.PAUSED)
    await reports.run_follow_ups()
    await reports.answer("ada", BAD)
    task = await desk.claim("ada")
    assert task is not None
    await desk.fail(task, may_pass=False)
    await reports.run_follow_ups()

    for report, reason in ((away, "could not be ordered"), (failing, "did not succeed")):
        done = await reports.read(report)
        assert done.status is ReportStatus.INVALID
        assert reason in done.problems[-1]
        assert len(done.problems) == 3
        assert len(await reports.sections(report)) == 3


async def test_a_crash_between_the_end_of_the_task_and_the_parsing_leaves_one_report(
    reports: Reports, desk: Desk, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The worker dies with its transaction half-way; then two others run the job, and it is scheduled again."""
    report = await reports.request("luke")
    task = await reports.write("luke", GOOD)
    true = transitions._remember

    async def die(*_: object) -> None:
        raise asyncio.CancelledError

    monkeypatch.setattr(transitions, "_remember", die)
    with suppress(asyncio.CancelledError):
        await run_follow_ups(desk.transaction, settings)
    assert (await reports.read(report)).status is ReportStatus.WORKING
    assert await reports.sections(report) == []

    monkeypatch.setattr(transitions, "_remember", true)
    await asyncio.gather(*(reports.run_follow_ups() for _ in range(3)))

    async def once_more() -> None:
        async with desk.transaction() as session:
            await _advance(session, desk, task.id, settings)

    await asyncio.gather(*(once_more() for _ in range(5)))
    assert (await reports.read(report)).status is ReportStatus.VALID
    assert len(await reports.sections(report)) == 4
    assert await reports.kinds() == ["report.requested", "report.completed"]
    assert len(await reports.memories()) == await reports.count() == 1


async def _advance(session: AsyncSession, desk: Desk, task_id: object, settings: Settings) -> None:
    await transitions.advance(session, team_id=desk.team_id, task_id=task_id, settings=settings)  # type: ignore[arg-type]


async def test_one_repair_however_many_take_the_first_version_over(
    reports: Reports, desk: Desk, settings: Settings
) -> None:
    await reports.request("luke")
    task = await reports.write("luke", BAD)

    async def take_over() -> None:
        async with desk.transaction() as session:
            await _advance(session, desk, task.id, settings)

    await asyncio.gather(*(take_over() for _ in range(5)))

    assert await desk.open_count() == 1
    assert await desk.count() == 2


async def test_refusals_leave_nothing_behind(reports: Reports, desk: Desk, settings: Settings) -> None:
    await desk.agent("luke")
    await desk.set_status("luke", AgentStatus.PAUSED)
    desk.agents["nobody"] = Agent(id=new_id())
    with pytest.raises(AgentUnavailable):
        await reports.request("luke")
    with pytest.raises(BudgetExhausted):
        await reports.request("ada", budget_usd="9999")
    with pytest.raises(NotFound):
        await reports.request("nobody")
    assert (await reports.count(), await desk.count(), await desk.reserved()) == (0, 0, 0)

    await desk.agent("kyra")
    await desk.agent("zara")
    asked = await asyncio.gather(
        *(reports.request("zara", by="kyra") for _ in range(MOST_OPEN + 3)), return_exceptions=True
    )
    assert sum(isinstance(one, Conflict) for one in asked) == 3
    assert await reports.count() == MOST_OPEN
    desk.settings = settings.model_copy(update={"flags": settings.flags.model_copy(update={"task_delegation": False})})
    with pytest.raises(FeatureDisabled):
        await reports.request("zara")


async def test_an_agent_asks_a_colleague_for_a_report_and_waits_for_it(
    reports: Reports, desk: Desk, settings: Settings, database: Database, workers: Workers
) -> None:
    for slug in ("kyra", "luke", "ada"):
        await desk.agent(slug)
    wanted = {"agent": "ada", "type": "comparison", "title": "Which?", "parameters": {"options": ["a", "b"]}}
    wrong = wanted | {"parameters": {"options": ["a"]}}
    lines = [f"@tool request_report {json.dumps(one)}" for one in (wrong, wanted)]
    async with workers(Execution(settings, database, Providers(settings))):
        task = await desk.delegate("kyra", "luke", instructions="\n".join(["Compare.", *lines]))
        done = await until_status(desk, task, TaskStatus.COMPLETED)

        assert "parameters.options: must be a list of 2 to 50 texts" in (done.result or "")
        (report,) = await reports.all()
        await until_status(desk, await reports.task(report), TaskStatus.COMPLETED)
        await reports.run_follow_ups()
        look = "@tool check_report " + json.dumps({"report_id": to_global(Prefix.REPORT, report.id), "wait_seconds": 9})
        mine = await desk.delegate("kyra", "luke", instructions=f"Read it.\n{look}")
        others = await desk.delegate("kyra", "ada", instructions=f"Read it.\n{look}")
        read = await until_status(desk, mine, TaskStatus.COMPLETED)
        refused = await until_status(desk, others, TaskStatus.COMPLETED)
        only: dict[str, Any] = {"tools": ["request_report"], "may_ask": ["ada"]}
        asks = "\n".join(f"@tool request_report {json.dumps(wanted | {'agent': slug})}" for slug in ("kyra", "ada"))
        narrow = await until_status(
            desk, await desk.delegate("kyra", "luke", instructions=asks, **only), TaskStatus.COMPLETED
        )
        _, second = await reports.all()

    assert "AUTHORITY_EXCEEDED: The task above does not grant the agent 'kyra'." in (narrow.result or "")
    within = await reports.task(second)
    assert (within.allowed_agents, within.allowed_tools) == ([desk.agents["ada"].id], ["request_report"])
    assert report.requester_id == (await desk.agent("luke")).id
    assert "check_report: VALID" in (read.result or "")
    assert "You asked for no such report." in (refused.result or "")
