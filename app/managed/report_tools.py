"""The tools with which managed agents ask colleagues for reports and read what came of them."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field
from sqlalchemy.ext.asyncio import AsyncSession

from app.agents.spec import Strict
from app.consultations import queries as consultations
from app.errors import NotFound
from app.ids import Prefix, from_global, to_global
from app.managed.task_tools import MOST_WAIT_S, find_colleague
from app.managed.tool import AgentTool, Desk, Done
from app.managed.waiting import wait_while
from app.reports import queries, service
from app.reports.models import OPEN, ReportFormat, ReportType
from app.reports.service import Ordered
from app.reports.spec import parse_report
from app.tasks.models import TaskPurpose

_STATUS = "select status from report where team_id = $1 and id = $2 and requester_id = $3"


class RequestReport(Strict):
    agent: Annotated[str, Field(description="The slug of the colleague who is to write it, such as luke.")]
    type: Annotated[ReportType, Field(description="Which template it follows.")]
    title: Annotated[str, Field(description="What it is called.", max_length=200)]
    parameters: Annotated[
        dict[str, Any],
        Field(
            description="What it is about, by its type. code_review: files, focus; security_audit: targets, standards; "
            "research_summary: topic, questions, depth; data_analysis: dataset, questions, metrics; risk_assessment: "
            "subject, categories, horizon; performance_report: subject, metrics, period; comparison: options, "
            "criteria; action_plan: goal, constraints, horizon."
        ),
    ]
    context: Annotated[str, Field(description="What it is to be written from.")] = ""
    format: Annotated[ReportFormat, Field(description="How it is written.")] = ReportFormat.MARKDOWN


class CheckReport(Strict):
    report_id: Annotated[str, Field(description="The id that request_report answered.")]
    wait_seconds: Annotated[int, Field(description="Wait up to this long for its end.", ge=0, le=MOST_WAIT_S)] = 0


async def _request(session: AsyncSession, desk: Desk, asked: RequestReport) -> Done:
    task = desk.run.task
    colleague = await find_colleague(session, task, asked.agent)
    consultation = await consultations.asked_from(session, task.team_id, task.root_id)
    made = await service.request(
        session,
        team_id=task.team_id,
        spec=parse_report(asked.model_dump(exclude={"agent"})),
        order=Ordered(
            colleague.id,
            task.assignee_id,
            start=desk.start,
            consultation_id=consultation.id if consultation else None,
        ),
        settings=desk.settings,
        actor=desk.run.actor,
    )
    name = to_global(Prefix.REPORT, made.id)
    return Done(f"{colleague.slug} writes it as {name}. Ask check_report for what it says.")


async def _wait(desk: Desk, asked: CheckReport) -> None:
    which = from_global(Prefix.REPORT, asked.report_id, path="report_id")
    await wait_while(desk, OPEN, _STATUS, which, desk.run.task.assignee_id, seconds=asked.wait_seconds)


async def _check(session: AsyncSession, desk: Desk, asked: CheckReport) -> Done:
    """Only of reports that the agent asked for."""
    task, report_id = desk.run.task, from_global(Prefix.REPORT, asked.report_id, path="report_id")
    found = await queries.read(session, team_id=task.team_id, report_id=report_id)
    if found.report.requester_id != task.assignee_id:
        raise NotFound("You asked for no such report.")
    said = [*found.report.problems, *(f"## {one.title}\n{one.content}" for one in found.sections)]
    return Done("\n\n".join([found.report.status.value.upper(), *said]))


REPORT_TOOLS = (
    AgentTool(
        name="request_report",
        description="Ask a colleague for a report in a fixed form, which is checked when it is written. Answers the "
        "report's id at once; it is paid from your own budget and goes on when you end.",
        arguments=RequestReport,
        act=_request,
        offered=lambda task: task.purpose is not TaskPurpose.REPORT and task.collaboration_id is None,
    ),
    AgentTool(
        name="check_report",
        description="Where a report that you asked for stands, and what it says; can wait for its end.",
        arguments=CheckReport,
        act=_check,
        wait=_wait,
        offered=lambda task: task.purpose is not TaskPurpose.REPORT and task.collaboration_id is None,
    ),
)
