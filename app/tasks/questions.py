"""What agents ask people. A task that asks is put aside: it holds no claim and no worker until it is answered, and
whoever takes it up again finds the answer on record."""

from __future__ import annotations

import hashlib
from datetime import datetime, timedelta
from typing import Annotated, Self
from uuid import UUID

from pydantic import Field, model_validator
from sqlalchemy import func, select
from sqlalchemy.ext.asyncio import AsyncSession

from app.agents import service as agents
from app.agents.spec import Strict, text
from app.attention import service as attention
from app.attention.models import (
    MAX_ANSWER,
    MAX_DETAIL,
    MAX_OPTION,
    MAX_OPTIONS,
    MAX_TITLE,
    AttentionItem,
    AttentionKind,
    AttentionState,
)
from app.attention.service import Subject
from app.errors import Conflict, QuotaExceeded
from app.events.log import Actor
from app.tasks import requeueing
from app.tasks.failures import NOTHING, Usage
from app.tasks.locks import held
from app.tasks.models import Task
from app.tasks.redacting import without_secrets

MAX_QUESTION = 2_000
MOST_QUESTIONS = 10  # of one task
DEADLINE_S = range(1, 2_592_001)
APPROVAL_OPTIONS = ("approve", "reject")
ASKED = frozenset(
    {AttentionKind.QUESTION, AttentionKind.CLARIFICATION, AttentionKind.APPROVAL, AttentionKind.ESCALATION}
)


class QuestionSpec(Strict):
    """`deadline_seconds` counts from when it is asked; None: for as long as it takes."""

    question: Annotated[str, text(MAX_QUESTION, 1)]
    kind: AttentionKind = AttentionKind.QUESTION
    context: Annotated[str, text(MAX_DETAIL)] = ""
    options: Annotated[tuple[Annotated[str, text(MAX_OPTION, 1)], ...], Field(max_length=MAX_OPTIONS)] = ()
    deadline_seconds: Annotated[int, Field(ge=DEADLINE_S[0], le=DEADLINE_S[-1])] | None = None
    default_answer: Annotated[str, text(MAX_ANSWER, 1)] | None = None

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.kind not in ASKED:
            raise ValueError(f"kind: {self.kind.value} is opened by Parley itself, not asked")
        if len(set(self.options)) < len(self.options):
            raise ValueError("options: names one twice")
        if self.default_answer is not None and self.deadline_seconds is None:
            raise ValueError("default_answer: needs a deadline at which it counts")
        if self.options and self.default_answer is not None and self.default_answer not in self.options:
            raise ValueError("default_answer: must be one of the options")
        return self

    @property
    def choices(self) -> tuple[str, ...]:
        return self.options or (APPROVAL_OPTIONS if self.kind is AttentionKind.APPROVAL else ())


def question_hash(question: str) -> bytes:
    """The same for the same words, however they are spaced and written."""
    return hashlib.sha256(" ".join(question.casefold().split()).encode()).digest()


async def recorded(session: AsyncSession, task_id: UUID, question: str) -> AttentionItem | None:
    """What the task has asked before with these words, unless that was withdrawn."""
    mine = (AttentionItem.task_id == task_id) & (AttentionItem.question_hash == question_hash(question))
    return await session.scalar(select(AttentionItem).where(mine, AttentionItem.state != AttentionState.WITHDRAWN))


async def answered(session: AsyncSession, task_id: UUID) -> list[AttentionItem]:
    """What the task has asked and been told, the first one first."""
    mine = (AttentionItem.task_id == task_id) & AttentionItem.question_hash.is_not(None)
    told = AttentionItem.state.in_((AttentionState.ANSWERED, AttentionState.EXPIRED))
    return list(await session.scalars(select(AttentionItem).where(mine, told).order_by(AttentionItem.id)))


def in_words(item: AttentionItem) -> str:
    """What an agent is told of a closed question."""
    said = ": ".join(filter(None, (item.option, item.answer)))
    if item.state is AttentionState.ANSWERED:
        return f"{item.closed_by} answered: {said}"
    if said:
        return f"Nobody answered in time. What counts then: {said}"
    return "Nobody answered in time. Go on by your own judgement, and say so in the result."


async def ask_from_task(
    session: AsyncSession,
    *,
    team_id: UUID,
    task_id: UUID,
    claim_token: UUID,
    wanted: QuestionSpec,
    actor: Actor,
    usage: Usage = NOTHING,
    agent_id: UUID | None = None,
) -> tuple[Task, AttentionItem | None]:
    """Ask and put the task aside; or, where the same was asked before, answer from the record and let it go on.

    No item: the task was past its time or its limits and has ended. Raises ClaimLost, Conflict or NotFound.
    """
    task, attempt, at = await held(
        session, team_id=team_id, task_id=task_id, claim_token=claim_token, agent_id=agent_id
    )
    if task.redacts is not None:
        wanted = wanted.model_copy(update=without_secrets(task, wanted.model_dump(exclude={"kind"})))
    known = await recorded(session, task.id, wanted.question)
    if known is not None:
        return task, known
    await _refuse_many(session, task)
    if not await requeueing.put_aside(session, task, attempt, at=at, actor=actor, usage=usage):
        return task, None
    subject = Subject(task_id=task.id, conversation_id=task.conversation_id)
    return task, await _open(session, team_id, wanted, subject, task.assignee_id, actor, holds_task=True)


async def ask(
    session: AsyncSession,
    *,
    team_id: UUID,
    wanted: QuestionSpec,
    actor: Actor,
    limit: int,
    agent_id: UUID | None = None,
    subject: Subject = Subject(),  # noqa: B008 - it cannot be changed
) -> AttentionItem:
    """Ask without waiting: whoever asks follows the events, or looks later. `limit`: how many open questions the sender
    may have. Raises NotFound or QuotaExceeded."""
    if agent_id is not None:
        await agents.lock(session, team_id, agent_id)
    await _refuse_over_quota(session, team_id, agent_id, actor, limit)
    return await _open(session, team_id, wanted, subject, agent_id, actor)


def freed(session: AsyncSession, task: Task, item: AttentionItem, *, at: datetime, actor: Actor) -> None:
    """A locked task need not wait for this item any more."""
    requeueing.take_up_again(session, task, at=at, actor=actor, reason=f"What it asked is {item.state.value}.")


async def _refuse_many(session: AsyncSession, task: Task) -> None:
    asked = (AttentionItem.task_id == task.id) & AttentionItem.question_hash.is_not(None)
    if (await session.scalar(select(func.count()).where(asked)) or 0) >= MOST_QUESTIONS:
        raise Conflict(f"This task has asked {MOST_QUESTIONS} times, the most that one may. Go on with what you know.")


async def _refuse_over_quota(
    session: AsyncSession, team_id: UUID, agent_id: UUID | None, actor: Actor, limit: int
) -> None:
    """An agent's row is locked, so of many questions at once each counts those before."""
    by_sender = AttentionItem.agent_id == agent_id
    if agent_id is None:
        by_sender = AttentionItem.agent_id.is_(None) & (AttentionItem.opened_by == actor.name)
    open_questions = (
        (AttentionItem.team_id == team_id)
        & (AttentionItem.state == AttentionState.OPEN)
        & AttentionItem.kind.in_(ASKED)
        & ~AttentionItem.holds_task
        & AttentionItem.consultation_id.is_(None)
    )
    count = await session.scalar(select(func.count()).where(open_questions, by_sender)) or 0
    if count >= limit:
        raise QuotaExceeded(
            f"{count:,} questions of this sender wait for a person",
            limit=limit,
            setting="PARLEY_QUESTIONS_PER_SENDER",
            instead="Wait until some are answered, or ask from a task.",
        )


async def _open(
    session: AsyncSession,
    team_id: UUID,
    wanted: QuestionSpec,
    subject: Subject,
    agent_id: UUID | None,
    actor: Actor,
    *,
    holds_task: bool = False,
) -> AttentionItem:
    long = len(wanted.question) > MAX_TITLE
    deadline = None
    if wanted.deadline_seconds is not None:
        at = await session.scalar(select(func.clock_timestamp()))
        assert at is not None
        deadline = at + timedelta(seconds=wanted.deadline_seconds)
    item = attention.open_item(
        session,
        wanted.kind,
        team_id=team_id,
        title=wanted.question[: MAX_TITLE - 1] + "…" if long else wanted.question,
        detail="\n\n".join(filter(None, (wanted.question if long else "", wanted.context))),
        options=wanted.choices,
        subject=subject,
        agent_id=agent_id,
        deadline=deadline,
        default_answer=wanted.default_answer,
        holds_task=holds_task,
        question_hash=question_hash(wanted.question) if holds_task else None,
        actor=actor,
    )
    await session.flush()
    return item
