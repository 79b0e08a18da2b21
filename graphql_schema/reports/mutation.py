"""Mutations of reports."""

from __future__ import annotations

import strawberry

from app.auth.roles import Permission
from app.consultations import queries as consultations
from app.ids import Prefix, from_global
from app.reports import service
from app.reports.models import MAX_SECTIONS, ReportFormat, ReportType
from app.reports.service import MOST_OPEN, Ordered
from app.reports.spec import MOST_CONTEXT, MOST_PARAMETERS_BYTES, SECTIONS, ReportSpec, parse_report
from app.routing import service as routing
from app.routing.errors import NoAgentAvailable as Nobody
from app.routing.mentions import addressing_nobody
from app.routing.service import Draft, Message
from graphql_schema.context import Context
from graphql_schema.mutations import MutationInput, Payload, Work, mutation
from graphql_schema.planner.mapping import entity
from graphql_schema.refusals import (
    AgentUnavailable,
    AllowanceExceeded,
    AuthorityExceeded,
    BudgetExhausted,
    ClaimLost,
    Conflict,
    CycleDetected,
    DelegationDepthExceeded,
    FeatureDisabled,
    NoAgentAvailable,
    NotFound,
    OscillationDetected,
)
from graphql_schema.reports.types import Report
from graphql_schema.scalars import JSON, Usd
from graphql_schema.tasks.acting import LEFT_OUT, acting_as, given, require_token, start_of

MOST_ROUTED = 5_000  # characters of the context by which an agent is chosen


@strawberry.input(description="Which report, about what, and by whom.")
class RequestReportInput(MutationInput):
    type: ReportType = strawberry.field(description="Which template it follows.")
    title: str = strawberry.field(description="What it is called, 1 to 200 characters.")
    parameters: JSON = strawberry.field(
        description=f"What it is about: an object with the template's parameters, at most {MOST_PARAMETERS_BYTES:,} "
        "bytes. See reportTemplates."
    )
    sections: list[str] = strawberry.field(
        default_factory=list,
        description="Optional sections of the template that have to be there as well, by name.",
    )
    max_sections: int = strawberry.field(
        default=SECTIONS,
        description=f"How many sections it may have, 1 to {MAX_SECTIONS}; not fewer than must be there.",
    )
    format: ReportFormat = strawberry.field(default=ReportFormat.MARKDOWN, description="How it is written.")
    context: str = strawberry.field(
        default="", description=f"What it is to be written from, up to {MOST_CONTEXT:,} characters."
    )
    assignee_id: strawberry.ID | None = strawberry.field(
        default=None, description="Who writes it; must be active. Null: routing chooses, and the decision is kept."
    )
    requester_id: strawberry.ID | None = strawberry.field(
        default=None,
        description=f"The agent that asks; it may wait for {MOST_OPEN} at a time. An agent's key is taken for that "
        "agent. Null: a person or a program.",
    )
    parent_id: strawberry.ID | None = strawberry.field(
        default=None,
        description="The task of the requester that asks for it; it must be in progress. Its budget pays, its limits "
        f"bind. {LEFT_OUT}",
    )
    claim_token: str | None = strawberry.field(
        default=None, description="The claim under which that task is worked on; an agent's key needs it for a parent."
    )
    budget_usd: Usd | None = strawberry.field(
        default=None,
        description="What the first version may cost, and the repair again, up to 10,000 US dollars; reserved from the "
        "team's day. Null: the usual budget of a task. Where an agent asks, both versions share it, and it comes from "
        "the agent's task or allowance.",
    )


@strawberry.type(description="The report that is being written.")
class ReportPayload(Payload):
    report: Report = entity("The report, as it is now.")


async def _decide(context: Context, input: RequestReportInput) -> tuple[ReportSpec, Draft | None]:
    """Read the request, and choose who writes it where nobody is named."""
    named = ("type", "title", "parameters", "max_sections", "format", "context", "budget_usd")
    spec = parse_report({**given(input, *named), "sections": input.sections})
    if input.assignee_id:
        return spec, None
    requester = from_global(Prefix.AGENT, input.requester_id, path="requesterId") if input.requester_id else None
    asking = requester or context.principal.agent_id
    told = "\n".join(str(value) for value in spec.parameters.values())
    words = f"{spec.type.value.replace('_', ' ')}: {spec.title}\n{told[:MOST_ROUTED]}\n{spec.context[:MOST_ROUTED]}"
    message = Message(text=addressing_nobody(words)[:MOST_ROUTED], without=frozenset({asking} if asking else ()))
    return spec, await context.services.routing.decide(context.principal.team_id, message)


@mutation(
    "Asks an agent for a report. It becomes a task of that agent, with the template in its instructions; what is "
    "written is read into sections and held against the template. What does not keep to it is written again, once.",
    needs=Permission.DELEGATE_TASKS,
    refusals=(
        NotFound, Conflict, FeatureDisabled, AgentUnavailable, NoAgentAvailable, BudgetExhausted, AllowanceExceeded,
        AuthorityExceeded, DelegationDepthExceeded, CycleDetected, OscillationDetected, ClaimLost,
    ),
    prepare=_decide,
)  # fmt: skip
async def request_report(work: Work, input: RequestReportInput) -> ReportPayload:
    spec, draft = work.prepared
    require_token(work.principal, input.parent_id, input.claim_token)
    start = await start_of(work, input.parent_id, input.claim_token, path="parentId")
    asking = from_global(Prefix.AGENT, input.requester_id, path="requesterId") if input.requester_id else None
    requester_id = acting_as(work.principal, asking, Permission.DELEGATE_TASKS)
    consultation_id = None
    if start.task_id is not None:
        consultation_id = await consultations.answered_by(work.session, work.team_id, start.task_id)
    decision_id = None
    if draft is None:
        assert input.assignee_id is not None
        assignee_id = from_global(Prefix.AGENT, input.assignee_id, path="assigneeId")
    else:
        assignee_id = draft.decision["selected_agent_id"]
        if assignee_id is None:
            raise Nobody(draft.decision["warning"])
        decision_id = await routing.record(work.session, draft, actor=work.actor)
    report = await service.request(
        work.session,
        team_id=work.team_id,
        spec=spec,
        order=Ordered(assignee_id, requester_id, decision_id=decision_id, start=start, consultation_id=consultation_id),
        settings=work.context.services.settings,
        actor=work.actor,
    )
    return ReportPayload(report=report.id)  # type: ignore[arg-type]
