"""Opens, assigns and closes what needs a person. What follows from an answer is for whoever opened the item.

An item's row is the last to be locked: after the team, agents, tasks and dead letters, before no account but those of
a team whose row is held.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, func, select
from sqlalchemy.ext.asyncio import AsyncSession

from app.attention.errors import AlreadyAnswered
from app.attention.models import (
    MAX_PERSON,
    MAX_TITLE,
    AttentionAction,
    AttentionItem,
    AttentionKind,
    AttentionState,
    AttentionStep,
)
from app.errors import NotFound, check_text
from app.events.kinds import EventKind
from app.events.log import SYSTEM, Actor, append
from app.follow_ups import service as follow_ups
from app.follow_ups.models import FollowUpKind
from app.ids import Prefix, new_id, to_global

MAX_NOTE = 500
_SHOWN = 500  # characters of a text in an event
_EVENT = {
    AttentionState.ANSWERED: EventKind.ATTENTION_ANSWERED,
    AttentionState.EXPIRED: EventKind.ATTENTION_EXPIRED,
    AttentionState.WITHDRAWN: EventKind.ATTENTION_WITHDRAWN,
}


@dataclass(frozen=True, slots=True)
class Subject:
    """What an item is about, as far as it is about something."""

    task_id: UUID | None = None
    dead_letter_id: UUID | None = None
    conversation_id: UUID | None = None
    collaboration_id: UUID | None = None
    stage_id: UUID | None = None
    budget_id: UUID | None = None
    consultation_id: UUID | None = None


def open_item(
    session: AsyncSession,
    kind: AttentionKind,
    *,
    team_id: UUID,
    title: str,
    actor: Actor,
    subject: Subject = Subject(),  # noqa: B008 - it cannot be changed
    detail: str = "",
    options: Sequence[str] = (),
    agent_id: UUID | None = None,
    deadline: datetime | None = None,
    default_answer: str | None = None,
    holds_task: bool = False,
    question_hash: bytes | None = None,
) -> AttentionItem:
    """In the transaction of what makes it necessary. With a deadline it closes by itself, with the default answer."""
    item = AttentionItem(
        id=new_id(),
        team_id=team_id,
        kind=kind,
        title=title[:MAX_TITLE],
        detail=detail,
        options=list(options),
        opened_by=actor.name,
        deadline=deadline,
        default_answer=default_answer,
        agent_id=agent_id,
        task_id=subject.task_id,
        dead_letter_id=subject.dead_letter_id,
        conversation_id=subject.conversation_id,
        collaboration_id=subject.collaboration_id,
        stage_id=subject.stage_id,
        budget_id=subject.budget_id,
        consultation_id=subject.consultation_id,
        holds_task=holds_task,
        question_hash=question_hash,
    )
    session.add(item)
    if deadline is not None:
        follow_ups.schedule(session, FollowUpKind.ATTENTION_DUE, team_id=team_id, subject_id=item.id, due_at=deadline)
    _keep(session, item, AttentionAction.OPENED, EventKind.ATTENTION_OPENED, actor, title=item.title)
    return item


async def find(session: AsyncSession, *, team_id: UUID, item_id: UUID, lock: bool = False) -> AttentionItem:
    """Raises NotFound."""
    mine = select(AttentionItem).where(AttentionItem.team_id == team_id, AttentionItem.id == item_id)
    statement = mine.with_for_update(key_share=True) if lock else mine
    item = await session.scalar(statement.execution_options(populate_existing=True))
    if item is None:
        raise NotFound("There is nothing with this id in the team that needs a person.")
    return item


async def locked_open(session: AsyncSession, *, team_id: UUID, item_id: UUID) -> AttentionItem:
    """Of two who answer at once the second is told who was first, and what was said."""
    item = await find(session, team_id=team_id, item_id=item_id, lock=True)
    refuse_closed(item)
    return item


def refuse_closed(item: AttentionItem) -> None:
    if item.state is not AttentionState.OPEN:
        raise AlreadyAnswered(item)


def close(
    session: AsyncSession,
    item: AttentionItem,
    state: AttentionState,
    *,
    actor: Actor,
    option: str | None = None,
    answer: str | None = None,
) -> None:
    """Close a locked open item; for good."""
    item.state, item.closed_by, item.closed_at = state, actor.name, func.clock_timestamp()
    item.option, item.answer = option, answer or None
    said = ": ".join(filter(None, (option, answer)))
    told = {"option": option, "answer": (answer or "")[:_SHOWN] or None}
    given = {name: value for name, value in told.items() if value is not None}
    _keep(session, item, AttentionAction(state.value), _EVENT[state], actor, note=said, **given)


async def assign(
    session: AsyncSession, *, team_id: UUID, item_id: UUID, assignee: str | None, note: str, actor: Actor
) -> AttentionItem:
    """Say who is to answer it; None: whoever comes first. Anybody who may answer still can."""
    name = None if assignee is None else check_text("assignee", assignee, least=1, most=MAX_PERSON)
    note = check_text("note", note, most=MAX_NOTE)
    item = await locked_open(session, team_id=team_id, item_id=item_id)
    item.assignee = name
    said = f"{name or 'nobody'}. {note}" if note else name or "nobody"
    _keep(session, item, AttentionAction.ASSIGNED, EventKind.ATTENTION_ASSIGNED, actor, note=said, assignee=name)
    return item


async def close_of_letter(session: AsyncSession, letter_id: UUID, *, option: str, note: str, actor: Actor) -> None:
    """A dead letter was resolved, by whichever door: its item has its answer."""
    for item in await _open_of(session, AttentionItem.dead_letter_id == letter_id):
        close(session, item, AttentionState.ANSWERED, option=option, answer=note, actor=actor)


async def close_of_stage(session: AsyncSession, stage_id: UUID, *, option: str, note: str, actor: Actor) -> None:
    """It was decided on a stage of a session that failed, by whoever did."""
    for item in await _open_of(session, AttentionItem.stage_id == stage_id):
        close(session, item, AttentionState.ANSWERED, option=option, answer=note, actor=actor)


async def withdraw_of_collaboration(session: AsyncSession, collaboration_id: UUID, *, actor: Actor) -> None:
    for item in await _open_of(session, AttentionItem.collaboration_id == collaboration_id):
        close(session, item, AttentionState.WITHDRAWN, answer="The session has ended.", actor=actor)


async def withdraw_of_conversation(session: AsyncSession, conversation_id: UUID, *, actor: Actor) -> None:
    """What a task waits for is withdrawn with the task, and a dead letter outlives the conversation."""
    mine = (AttentionItem.conversation_id == conversation_id) & AttentionItem.dead_letter_id.is_(None)
    for item in await _open_of(session, mine & ~AttentionItem.holds_task):
        close(session, item, AttentionState.WITHDRAWN, answer="The conversation was closed.", actor=actor)


async def close_of_budget(session: AsyncSession, budget_id: UUID, *, option: str, actor: Actor) -> None:
    """A cap was raised, by whichever door."""
    for item in await _open_of(session, AttentionItem.budget_id == budget_id):
        close(session, item, AttentionState.ANSWERED, option=option, actor=actor)


async def withdraw_of_budget(session: AsyncSession, budget_id: UUID, *, actor: Actor) -> None:
    """Corrections left room under the cap again."""
    for item in await _open_of(session, AttentionItem.budget_id == budget_id):
        close(session, item, AttentionState.WITHDRAWN, answer="What was spent has been corrected.", actor=actor)


async def close_of_claim(session: AsyncSession, task_id: UUID, *, option: str, note: str, actor: Actor) -> None:
    """A person decided on a cost that was claimed beyond a task's budget, or an admin corrected the task's cost."""
    claims = (AttentionItem.task_id == task_id) & (AttentionItem.kind == AttentionKind.COST_CLAIM)
    for item in await _open_of(session, claims):
        close(session, item, AttentionState.ANSWERED, option=option, answer=note, actor=actor)


async def withdraw_of_task(session: AsyncSession, task_id: UUID, *, actor: Actor = SYSTEM) -> None:
    """A task ended that waited for a person: nobody needs the answer any more."""
    held = (AttentionItem.task_id == task_id) & AttentionItem.holds_task
    for item in await _open_of(session, held):
        close(session, item, AttentionState.WITHDRAWN, answer="The task that waited for it has ended.", actor=actor)


async def _open_of(session: AsyncSession, mine: ColumnElement[bool]) -> list[AttentionItem]:
    statement = select(AttentionItem).where(mine, AttentionItem.state == AttentionState.OPEN).order_by(AttentionItem.id)
    return list(await session.scalars(statement.with_for_update(key_share=True)))


def _keep(
    session: AsyncSession,
    item: AttentionItem,
    action: AttentionAction,
    kind: EventKind,
    actor: Actor,
    *,
    note: str = "",
    **changes: Any,
) -> None:
    session.add(AttentionStep(team_id=item.team_id, item_id=item.id, action=action, actor=actor.name, note=note))
    about = {"taskId": (Prefix.TASK, item.task_id), "deadLetterId": (Prefix.DEAD_LETTER, item.dead_letter_id)}
    links = {name: to_global(prefix, value) for name, (prefix, value) in about.items() if value is not None}
    told = {"attentionId": to_global(Prefix.ATTENTION, item.id), "kind": item.kind, "status": item.state}
    append(
        session,
        kind,
        team_id=item.team_id,
        actor=actor,
        agent_id=item.agent_id,
        conversation_id=item.conversation_id,
        collaboration_id=item.collaboration_id,
        consultation_id=item.consultation_id,
        changes=told | links | changes,
    )
