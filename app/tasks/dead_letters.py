"""Dead letters: tasks that failed for good and wait for a person, who replays or discards each, once."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from app.attention import service as attention
from app.attention.models import AttentionKind
from app.attention.service import Subject
from app.clock import now
from app.errors import Conflict, NotFound
from app.events.kinds import EventKind
from app.events.log import Actor
from app.ids import Prefix, new_id, to_global
from app.tasks.failures import Failure
from app.tasks.models import DeadLetter, DeadLetterState, Task
from app.tasks.narration import tell
from app.tasks.redacting import without_secrets

REPLAY, DISCARD, RETRY = "replay", "discard", "retry"


async def open_letter(session: AsyncSession, task: Task, failure: Failure, actor: Actor) -> DeadLetter:
    """And ask a person what is to become of it."""
    letter = DeadLetter(id=new_id(), team_id=task.team_id, task_id=task.id, reason=f"{failure.code}: {failure.message}")
    session.add(letter)
    await session.flush()
    tell(session, EventKind.TASK_DEAD_LETTERED, task, actor, deadLetterId=to_global(Prefix.DEAD_LETTER, letter.id))
    attention.open_item(
        session,
        AttentionKind.DEAD_LETTER if task.parent_id is None else AttentionKind.FAILED_SUBTASK,
        team_id=task.team_id,
        title=f"Failed for good: {task.title}",
        detail=letter.reason,
        options=(REPLAY, DISCARD),
        subject=Subject(task_id=task.id, dead_letter_id=letter.id, conversation_id=task.conversation_id),
        actor=actor,
    )
    return letter


async def lock_open(session: AsyncSession, *, team_id: UUID, letter_id: UUID) -> tuple[DeadLetter, Task]:
    """An open letter and its task; of two people at once the second is told that the first was faster."""
    statement = (
        select(DeadLetter, Task)
        .join(Task, Task.id == DeadLetter.task_id)
        .where(DeadLetter.team_id == team_id, DeadLetter.id == letter_id)
        .with_for_update(of=DeadLetter)
    )
    row = (await session.execute(statement.execution_options(populate_existing=True))).one_or_none()
    if row is None:
        raise NotFound("There is no such dead letter in this team.")
    letter, task = row
    _refuse_resolved(letter)
    return letter, task


def _refuse_resolved(letter: DeadLetter) -> None:
    if letter.state is not DeadLetterState.OPEN:
        raise Conflict(f"This dead letter was already {letter.state.value} by {letter.resolved_by}.")


async def require_open(session: AsyncSession, letter_id: UUID) -> None:
    """Raises Conflict for one that is resolved: what follows would answer something beside the point."""
    letter = (await session.scalars(select(DeadLetter).where(DeadLetter.id == letter_id))).one()
    _refuse_resolved(letter)


async def discard(session: AsyncSession, *, team_id: UUID, letter_id: UUID, note: str, actor: Actor) -> DeadLetter:
    letter, task = await lock_open(session, team_id=team_id, letter_id=letter_id)
    await resolve(session, letter, task, DeadLetterState.DISCARDED, note=note, actor=actor)
    return letter


async def resolve_of(session: AsyncSession, task: Task, *, note: str, actor: Actor) -> None:
    """The task itself runs again: its open letter, if it has one, has served."""
    mine = (DeadLetter.task_id == task.id) & (DeadLetter.state == DeadLetterState.OPEN)
    letter = await session.scalar(select(DeadLetter).where(mine).with_for_update())
    if letter is not None:
        note = without_secrets(task, note)
        letter.state, letter.replay_id = DeadLetterState.REPLAYED, task.id
        letter.resolved_by, letter.resolved_at, letter.note = actor.name, now(), note or None
        await attention.close_of_letter(session, letter.id, option=RETRY, note=note, actor=actor)


async def resolve(
    session: AsyncSession,
    letter: DeadLetter,
    task: Task,
    state: DeadLetterState,
    *,
    actor: Actor,
    note: str = "",
    replay_id: UUID | None = None,
) -> None:
    """Say who closed the letter, when, how and why: its audit trail."""
    note = without_secrets(task, note)
    letter.state, letter.replay_id = state, replay_id
    letter.resolved_by, letter.resolved_at, letter.note = actor.name, now(), note or None
    replayed = state is DeadLetterState.REPLAYED
    kind = EventKind.DEAD_LETTER_REPLAYED if replayed else EventKind.DEAD_LETTER_DISCARDED
    told: dict[str, Any] = {"deadLetterId": to_global(Prefix.DEAD_LETTER, letter.id), "note": note}
    if replay_id is not None:
        told["replayId"] = to_global(Prefix.TASK, replay_id)
    tell(session, kind, task, actor, **told)
    await attention.close_of_letter(session, letter.id, option=REPLAY if replayed else DISCARD, note=note, actor=actor)
