"""The tool with which managed agents ask a person."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, ValidationError
from sqlalchemy.ext.asyncio import AsyncSession

from app.agents.spec import Strict, problems_of
from app.attention.models import MAX_ANSWER, MAX_DETAIL, MAX_OPTIONS, AttentionKind
from app.errors import InvalidInput
from app.managed.tool import AgentTool, Desk, Done
from app.tasks import questions
from app.tasks.questions import DEADLINE_S, MAX_QUESTION, QuestionSpec


class AskPerson(Strict):
    question: Annotated[str, Field(description="One question.", min_length=1, max_length=MAX_QUESTION)]
    kind: Annotated[
        AttentionKind,
        Field(description="question, clarification, approval (may I?) or escalation (this is beyond me)."),
    ] = AttentionKind.QUESTION
    context: Annotated[str, Field(description="What the person has to know to answer.", max_length=MAX_DETAIL)] = ""
    options: Annotated[
        tuple[str, ...], Field(description="Answers to choose from; left out: in free words.", max_length=MAX_OPTIONS)
    ] = ()
    deadline_seconds: Annotated[
        int | None,
        Field(description="How long to wait; left out: as long as it takes.", ge=DEADLINE_S[0], le=DEADLINE_S[-1]),
    ] = None
    default_answer: Annotated[
        str | None, Field(description="What counts when that time is over.", max_length=MAX_ANSWER)
    ] = None


async def _ask(session: AsyncSession, desk: Desk, asked: AskPerson) -> Done:
    run, wanted = desk.run, _spec(asked)
    known = await questions.recorded(session, run.task.id, wanted.question)
    if known is not None:
        return Done(questions.in_words(known))

    async def leave(session: AsyncSession) -> None:
        claim = {"team_id": run.task.team_id, "task_id": run.task.id, "claim_token": run.token}
        await questions.ask_from_task(session, **claim, wanted=wanted, actor=run.actor, usage=run.usage)

    return Done("A person is asked. The task goes on when there is an answer.", leave=leave)


def _spec(asked: AskPerson) -> QuestionSpec:
    try:
        return QuestionSpec.model_validate(asked.model_dump())
    except ValidationError as error:
        problems = problems_of(error)
        message = "; ".join(f"{problem['path']}: {problem['message']}" for problem in problems)
        raise InvalidInput(message, problems) from None


ATTENTION_TOOLS = (
    AgentTool(
        name="ask_person",
        description="Ask a person, when only a person can know or decide. Your work stops here and starts anew when "
        "the answer is there: ask the same again then, and you get it at once. What you delegated and is still open "
        "is cancelled, so ask before you delegate.",
        arguments=AskPerson,
        act=_ask,
    ),
)
