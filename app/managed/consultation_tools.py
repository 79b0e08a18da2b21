"""The tools with which managed agents ask for help, read the answers, ask on and rate."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field
from sqlalchemy.ext.asyncio import AsyncSession

from app.agents.spec import Strict
from app.consultations import outcomes, queries, service, wording
from app.consultations.models import ACTIVE, STARS, ConsultationReason, ConsultationStatus, ExchangeKind, Urgency
from app.consultations.preparation import Consulting, Prepared
from app.consultations.service import Asking
from app.consultations.spec import ConsultationSpec, Question, Rating, parse, what_to_redact
from app.errors import Conflict, NotFound
from app.ids import Prefix, from_global, to_global
from app.managed.task_tools import MOST_WAIT_S, find_colleague
from app.managed.tool import AgentTool, Desk, Done
from app.managed.waiting import wait_while
from app.redaction import redacted

_STATUS = "select status from consultation where team_id = $1 and id = $2 and requester_id = $3"
_WHICH = "The id that request_consultation answered."


class RequestConsultation(Strict):
    question: Annotated[str, Field(description="One question.", min_length=1, max_length=4_000)]
    reason: Annotated[ConsultationReason, Field(description="What kind of help.")] = ConsultationReason.OTHER
    urgency: Annotated[Urgency, Field(description="How soon an answer is needed.")] = Urgency.NORMAL
    current_task: Annotated[str, Field(description="What you work on, in a sentence.")] = ""
    concern: Annotated[str, Field(description="What exactly is unclear.")] = ""
    attempted_approaches: Annotated[tuple[str, ...], Field(description="What you tried.", max_length=20)] = ()
    files: Annotated[tuple[str, ...], Field(description="Names of files that belong to it.", max_length=50)] = ()
    errors: Annotated[tuple[str, ...], Field(description="Error messages.", max_length=20)] = ()
    snippets: Annotated[
        tuple[dict[str, Any], ...], Field(description="Pieces of code: code, file, line.", max_length=20)
    ] = ()
    suggested_agent: Annotated[str, Field(description="The slug of who might know; only a hint.")] = ""


class CheckConsultation(Strict):
    consultation_id: Annotated[str, Field(description=_WHICH)]
    wait_seconds: Annotated[int, Field(description="Wait up to this long for an answer.", ge=0, le=MOST_WAIT_S)] = 0


class ClarifyConsultation(Strict):
    consultation_id: Annotated[str, Field(description=_WHICH)]
    text: Annotated[str, Field(description="What is still unclear.", min_length=1, max_length=4_000)]


class RateConsultation(Strict):
    consultation_id: Annotated[str, Field(description=_WHICH)]
    rating: Annotated[int, Field(description="1, no help, to 5, all that was needed.", ge=STARS[0], le=STARS[-1])]
    lessons: Annotated[str, Field(description="What is to be learned from it.")] = ""


def _spec(desk: Desk, asked: RequestConsultation) -> ConsultationSpec:
    given = asked.model_dump(exclude={"question", "reason", "urgency", "suggested_agent"})
    fields = {"question": asked.question, "reason": asked.reason, "urgency": asked.urgency, "given": given}
    return parse(ConsultationSpec, fields, what_to_redact(desk.settings.redact_emails))


def _consulting(desk: Desk) -> Consulting:
    if desk.consulting is None:
        raise Conflict("Consultations are not to be had here.")
    return desk.consulting


async def _prepare(desk: Desk, asked: RequestConsultation) -> Prepared:
    task = desk.run.task
    return await _consulting(desk).prepare(task.team_id, task.assignee_id, _spec(desk, asked))


async def _request(session: AsyncSession, desk: Desk, asked: RequestConsultation) -> Done:
    task = desk.run.task
    hint = await find_colleague(session, task, asked.suggested_agent) if asked.suggested_agent else None
    row = await service.request(
        session,
        team_id=task.team_id,
        spec=_spec(desk, asked),
        asking=Asking(task.assignee_id, hint.id if hint else None, desk.start),
        prepared=desk.prepared,
        settings=desk.settings,
        actor=desk.run.actor,
    )
    name = to_global(Prefix.CONSULTATION, row.id)
    who = "A person is asked" if row.status is ConsultationStatus.ESCALATED else row.chosen_because
    return Done(f"{who} It is {name}. Ask check_consultation for the answer; go on with other work meanwhile.")


async def _wait(desk: Desk, asked: CheckConsultation) -> None:
    which = from_global(Prefix.CONSULTATION, asked.consultation_id, path="consultation_id")
    await wait_while(desk, ACTIVE, _STATUS, which, desk.run.task.assignee_id, seconds=asked.wait_seconds)


async def _check(session: AsyncSession, desk: Desk, asked: CheckConsultation) -> Done:
    """Only of what the agent itself asked."""
    task, which = desk.run.task, from_global(Prefix.CONSULTATION, asked.consultation_id, path="consultation_id")
    row = await queries.find(session, team_id=task.team_id, consultation_id=which)
    if row.requester_id != task.assignee_id:
        raise NotFound("You asked for no such consultation.")
    said = [one for one in await queries.exchanges(session, row.id) if one.kind is ExchangeKind.RESPONSE]
    told = [row.status.value.upper(), row.escalation_reason if row.status is ConsultationStatus.ESCALATED else ""]
    told.append(f"{said[-1].author}: {wording.delivered(said[-1])}" if said else row.summary or "")
    return Done("\n\n".join(filter(None, told)))


async def _prepare_clarification(desk: Desk, asked: ClarifyConsultation) -> Prepared:
    which = from_global(Prefix.CONSULTATION, asked.consultation_id, path="consultation_id")
    return await _consulting(desk).prepare_clarification(desk.run.task.team_id, which, asked.text)


async def _clarify(session: AsyncSession, desk: Desk, asked: ClarifyConsultation) -> Done:
    task = desk.run.task
    row = await service.clarify(
        session,
        team_id=task.team_id,
        consultation_id=from_global(Prefix.CONSULTATION, asked.consultation_id, path="consultation_id"),
        requester_id=task.assignee_id,
        text=parse(Question, {"text": asked.text}, what_to_redact(desk.settings.redact_emails)).text,
        prepared=desk.prepared,
        settings=desk.settings,
        actor=desk.run.actor,
        start=desk.start,
    )
    return Done(f"It is {row.status.value} again. Ask check_consultation for the answer.")


async def _rate(session: AsyncSession, desk: Desk, asked: RateConsultation) -> Done:
    task = desk.run.task
    given = asked.model_dump(exclude={"consultation_id"})
    await outcomes.rate(
        session,
        team_id=task.team_id,
        consultation_id=from_global(Prefix.CONSULTATION, asked.consultation_id, path="consultation_id"),
        requester_id=task.assignee_id,
        given=parse(Rating, given, what_to_redact(desk.settings.redact_emails)),
        actor=desk.run.actor,
    )
    return Done("Noted.")


def _kept(desk: Desk, given: dict[str, Any]) -> dict[str, Any]:
    clean: dict[str, Any] = redacted(given, what_to_redact(desk.settings.redact_emails))
    return clean


CONSULTATION_TOOLS = (
    AgentTool(
        name="request_consultation",
        description="Ask for a specialist's help. Parley decides who answers, and gives that colleague only what you "
        "say here. Answers the consultation's id at once; it has a budget of its own and goes on when you end.",
        arguments=RequestConsultation,
        act=_request,
        wait=_prepare,
        kept=_kept,
    ),
    AgentTool(
        name="check_consultation",
        description="Where a consultation that you asked for stands, and its answer; can wait for that.",
        arguments=CheckConsultation,
        act=_check,
        wait=_wait,
    ),
    AgentTool(
        name="clarify_consultation",
        description="Ask the specialist of an answered consultation again, when the answer leaves something unclear.",
        arguments=ClarifyConsultation,
        act=_clarify,
        wait=_prepare_clarification,
        kept=_kept,
    ),
    AgentTool(
        name="rate_consultation",
        description="Say how much an answer helped, 1 to 5, so that the next question finds the right colleague.",
        arguments=RateConsultation,
        act=_rate,
        kept=_kept,
    ),
)
