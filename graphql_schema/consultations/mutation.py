"""Mutations of consultations."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import strawberry

from app.auth.roles import Permission
from app.consultations import outcomes, service, transitions
from app.consultations.loop_detector import MOST_ACTIVE
from app.consultations.models import MAX_ANSWER, MAX_LESSONS, MAX_QUESTION, ConsultationReason, Urgency
from app.consultations.preparation import Consulting, Prepared
from app.consultations.service import MOST_ESCALATED, Asking
from app.consultations.spec import Answer, ConsultationSpec, Question, Rating, parse
from app.errors import InvalidInput as InvalidInputError
from app.ids import Prefix, from_global
from app.tasks.failures import NOTHING, Usage
from graphql_schema.consultations.types import Consultation
from graphql_schema.context import Context
from graphql_schema.mutations import MutationInput, Payload, Work, mutation
from graphql_schema.planner.mapping import entity
from graphql_schema.refusals import (
    AgentUnavailable,
    AllowanceExceeded,
    AuthorityExceeded,
    BudgetExhausted,
    Conflict,
    DelegationDepthExceeded,
    FeatureDisabled,
    NoAgentAvailable,
    NotConsulted,
    NotFound,
)
from graphql_schema.scalars import Usd
from graphql_schema.tasks.acting import LEFT_OUT, acting_as, given, parsed, start_of

_NEEDS = Permission.CONSULT_AGENTS
_CONTEXT = ("current_task", "concern", "project_type")
_LISTS = ("attempted_approaches", "files", "errors", "tech_stack")
_REQUESTER = "The agent that asked. An agent's key is taken for that agent; other keys may leave it out."


@strawberry.input(description="A piece of code that belongs to a question.")
class ConsultationSnippetInput:
    code: str = strawberry.field(description="The code, 1 to 10,000 characters.")
    file: str = strawberry.field(default="", description="In which file, up to 500 characters.")
    line: int | None = strawberry.field(default=None, description="The line of the file where it begins, from 1.")


@strawberry.input(description="What the specialist has to know, and nothing else. Secrets in it are taken out.")
class ConsultationContextInput:
    current_task: str = strawberry.field(default="", description="What the agent works on, up to 2,000 characters.")
    concern: str = strawberry.field(default="", description="What exactly is unclear, up to 2,000 characters.")
    attempted_approaches: list[str] = strawberry.field(
        default_factory=list, description="What was tried already, at most 20 of up to 2,000 characters."
    )
    files: list[str] = strawberry.field(
        default_factory=list, description="Names of files that belong to it, at most 50 of up to 500 characters."
    )
    snippets: list[ConsultationSnippetInput] = strawberry.field(
        default_factory=list, description="Pieces of code that belong to it, at most 20."
    )
    errors: list[str] = strawberry.field(
        default_factory=list, description="Error messages, at most 20 of up to 2,000 characters."
    )
    project_type: str = strawberry.field(default="", description="What kind of project, up to 200 characters.")
    tech_stack: list[str] = strawberry.field(
        default_factory=list, description="What it is built with, at most 20 words of up to 120 characters."
    )


@strawberry.input(description="What an agent wants to know, and how soon.")
class RequestConsultationInput(MutationInput):
    question: str = strawberry.field(description=f"One question, 1 to {MAX_QUESTION:,} characters.")
    reason: ConsultationReason = strawberry.field(
        default=ConsultationReason.OTHER, description="What kind of help is asked for."
    )
    urgency: Urgency = strawberry.field(default=Urgency.NORMAL, description="How soon an answer is needed.")
    context: ConsultationContextInput = strawberry.field(
        default_factory=ConsultationContextInput, description="What the specialist has to know."
    )
    requester_id: strawberry.ID | None = strawberry.field(
        default=None, description="The agent that asks. An agent's key is taken for that agent; other keys name one."
    )
    suggested_agent_id: strawberry.ID | None = strawberry.field(
        default=None, description="Who might know. A hint: Parley decides, and says why it did or did not follow it."
    )
    task_id: strawberry.ID | None = strawberry.field(
        default=None,
        description=f"The open task of the requester for which it asks: its budget pays, its limits bind. {LEFT_OUT}",
    )
    budget_usd: Usd | None = strawberry.field(
        default=None,
        description="What an answer may cost, up to 10,000 US dollars; reserved from the task that asks, else from the "
        "team's day. Null: the usual budget of a task, below one at most half of what that has left.",
    )


@strawberry.input(description="A specialist's answer.")
class AnswerConsultationInput(MutationInput):
    consultation_id: strawberry.ID = strawberry.field(description="What is answered, `consult_0190…`.")
    answer: str = strawberry.field(description=f"The answer, 1 to {MAX_ANSWER:,} characters.")
    additional_context: str = strawberry.field(
        default="", description=f"What else belongs to it, up to {MAX_ANSWER:,} characters."
    )
    references: list[str] = strawberry.field(
        default_factory=list, description="Where to look, at most 20 of up to 500 characters."
    )
    suggested_next_steps: list[str] = strawberry.field(
        default_factory=list, description="What to do next, at most 20 of up to 1,000 characters."
    )
    agent_id: strawberry.ID | None = strawberry.field(
        default=None, description="Who answers: the specialist. An agent's key is taken for that agent."
    )
    tokens_used: int | None = strawberry.field(default=None, description="Tokens that the answer took, from 0.")
    cost_usd: Usd | None = strawberry.field(default=None, description="What the answer cost.")


@strawberry.input(description="What the agent that asked wants to know besides.")
class ClarifyConsultationInput(MutationInput):
    consultation_id: strawberry.ID = strawberry.field(description="Which consultation, `consult_0190…`.")
    text: str = strawberry.field(description=f"What is still unclear, 1 to {MAX_QUESTION:,} characters.")
    task_id: strawberry.ID | None = strawberry.field(
        default=None,
        description=f"The open task of the requester that pays for it. {LEFT_OUT}",
    )
    requester_id: strawberry.ID | None = strawberry.field(default=None, description=_REQUESTER)


@strawberry.input(description="How much an answer helped.")
class RateConsultationInput(MutationInput):
    consultation_id: strawberry.ID = strawberry.field(description="Which consultation, `consult_0190…`.")
    rating: int = strawberry.field(description="1, it did not help, to 5, it was all that was needed.")
    lessons: str = strawberry.field(
        default="", description=f"What is to be learned from it, up to {MAX_LESSONS:,} characters."
    )
    requester_id: strawberry.ID | None = strawberry.field(default=None, description=_REQUESTER)


@strawberry.type(description="A consultation.")
class ConsultationPayload(Payload):
    consultation: Consultation = entity("The consultation, as it is now.")


def _consulting(context: Context) -> Consulting:
    services = context.services
    return Consulting(
        services.settings,
        services.database,
        services.routing,
        services.team_indexes,
        services.embedder,
        services.library,
    )


def _agent(context: Context, named: str | None, path: str) -> UUID | None:
    agent_id = from_global(Prefix.AGENT, named, path=path) if named else None
    return acting_as(context.principal, agent_id, _NEEDS)


async def _prepare_request(
    context: Context, input: RequestConsultationInput
) -> tuple[ConsultationSpec, UUID, Prepared]:
    consulting = _consulting(context)
    told = input.context
    context_given = {
        **given(told, *_CONTEXT),
        **{name: tuple(getattr(told, name)) for name in _LISTS},
        "snippets": tuple(given(one, "code", "file", "line") for one in told.snippets),
    }
    fields = {**given(input, "question", "reason", "urgency", "budget_usd"), "given": context_given}
    spec = parse(ConsultationSpec, fields, consulting.what)
    requester_id = _agent(context, input.requester_id, "requesterId")
    if requester_id is None:
        raise InvalidInputError.of("requesterId", "is needed with a key that does not act as one agent")
    team_id = context.principal.team_id
    return spec, requester_id, await consulting.prepare(team_id, requester_id, spec)


@mutation(
    "Asks for help. Parley chooses the specialist by routing, never the agent that asks, and gives it a context that "
    "is curated, within a budget of tokens and without secrets; answering is a task of the specialist. A loop, or a "
    "question that nobody's skills match, goes to a person instead: the consultation is ESCALATED. More than "
    f"{MOST_ACTIVE} open ones of an agent count as a loop; more than {MOST_ESCALATED} that wait for a person are "
    "refused.",
    needs=_NEEDS,
    refusals=(
        NotFound, Conflict, FeatureDisabled, AgentUnavailable, NoAgentAvailable, BudgetExhausted,
        AllowanceExceeded, DelegationDepthExceeded,
    ),
    prepare=_prepare_request,
)  # fmt: skip
async def request_consultation(work: Work, input: RequestConsultationInput) -> ConsultationPayload:
    spec, requester_id, prepared = work.prepared
    suggested = input.suggested_agent_id
    asking = Asking(
        requester_id,
        from_global(Prefix.AGENT, suggested, path="suggestedAgentId") if suggested else None,
        await start_of(work, input.task_id, path="taskId"),
    )
    row = await service.request(
        work.session,
        team_id=work.team_id,
        spec=spec,
        asking=asking,
        prepared=prepared,
        settings=work.context.services.settings,
        actor=work.actor,
    )
    return ConsultationPayload(consultation=row.id)  # type: ignore[arg-type]


@mutation(
    "Answers a consultation, in one call, as the specialist that was asked. Claiming its task and completing it with "
    "an output of the same shape comes to the same. A run of a managed agent that is under way counts no more.",
    needs=_NEEDS,
    refusals=(NotFound, Conflict, FeatureDisabled, NotConsulted),
)
async def answer_consultation(work: Work, input: AnswerConsultationInput) -> ConsultationPayload:
    consulting = _consulting(work.context)
    fields: dict[str, Any] = {
        **given(input, "answer", "additional_context"),
        "references": tuple(input.references),
        "suggested_next_steps": tuple(input.suggested_next_steps),
    }
    usage = {**given(input, "tokens_used"), **given(input, "cost_usd")}
    row = await transitions.answer(
        work.session,
        team_id=work.team_id,
        consultation_id=_which(input.consultation_id),
        agent_id=_agent(work.context, input.agent_id, "agentId"),
        given=parse(Answer, fields, consulting.what),
        usage=parsed(
            Usage,
            {
                "tokens": usage.get("tokens_used", 0),
                "cost": usage.get("cost_usd", NOTHING.cost),
                "self_reported": True,
            },
        ),
        settings=work.context.services.settings,
        actor=work.actor,
    )
    return ConsultationPayload(consultation=row.id)  # type: ignore[arg-type]


async def _prepare_clarification(context: Context, input: ClarifyConsultationInput) -> tuple[Question, Prepared]:
    consulting = _consulting(context)
    asked = parse(Question, {"text": input.text}, consulting.what)
    return asked, await consulting.prepare_clarification(
        context.principal.team_id, _which(input.consultation_id), asked.text
    )


@mutation(
    "Asks the specialist of an answered consultation again, in the same matter and with the same context. More than "
    "five exchanges that bring nothing new are a loop, and a person is asked.",
    needs=_NEEDS,
    refusals=(
        NotFound, Conflict, FeatureDisabled, AgentUnavailable, AuthorityExceeded, BudgetExhausted, AllowanceExceeded,
        DelegationDepthExceeded,
    ),
    prepare=_prepare_clarification,
)  # fmt: skip
async def clarify_consultation(work: Work, input: ClarifyConsultationInput) -> ConsultationPayload:
    asked, prepared = work.prepared
    row = await service.clarify(
        work.session,
        team_id=work.team_id,
        consultation_id=_which(input.consultation_id),
        requester_id=_agent(work.context, input.requester_id, "requesterId"),
        text=asked.text,
        prepared=prepared,
        settings=work.context.services.settings,
        actor=work.actor,
        start=await start_of(work, input.task_id, path="taskId"),
    )
    return ConsultationPayload(consultation=row.id)  # type: ignore[arg-type]


@mutation(
    "Says how much an answer helped; once, as the agent that asked. Routing learns from it. What is rated 1 or 2 is "
    "not remembered any longer; lessons are remembered with the answer.",
    needs=_NEEDS,
    refusals=(NotFound, Conflict),
)
async def rate_consultation(work: Work, input: RateConsultationInput) -> ConsultationPayload:
    what = _consulting(work.context).what
    row = await outcomes.rate(
        work.session,
        team_id=work.team_id,
        consultation_id=_which(input.consultation_id),
        requester_id=_agent(work.context, input.requester_id, "requesterId"),
        given=parse(Rating, given(input, "rating", "lessons"), what),
        actor=work.actor,
    )
    return ConsultationPayload(consultation=row.id)  # type: ignore[arg-type]


def _which(text: str) -> UUID:
    return from_global(Prefix.CONSULTATION, text, path="consultationId")
