"""Whether an agent takes new work, as SQL over its row. Load and wait are measured as routing measures them."""

from __future__ import annotations

from typing import Any

from sqlalchemy import (
    ColumnElement,
    Double,
    Integer,
    Select,
    case,
    cast,
    column,
    func,
    literal_column,
    null,
    select,
    table,
)

from app.agents.models import AgentStatus
from app.routing.facts import ACTIVE_CONVERSATION, NEWEST_CONVERSATIONS, RECENT_TASKS
from app.tasks.availability import MAX_OPEN_TASKS
from app.tasks.errors import UnavailableReason
from app.tasks.models import OPEN, AttemptOutcome, Task, TaskAttempt

Row = Any  # the columns of an agent: `row.id`
# By name, as routing reads them: the slice of conversations stands above.
_PARTICIPANT = table(
    "conversation_participant", *map(column, ("id", "team_id", "agent_id", "conversation_id", "left_at"))
)
_CONVERSATION = table("conversation", *map(column, ("id", "status", "updated_at")))


def availability(agent: Row) -> Select[Any]:
    """One row."""
    figures: list[Any] = [
        reason(agent).is_(None).label("available"),
        open_tasks(agent).label("active_tasks"),
        active_conversations(agent).label("active_conversations"),
        estimated_wait_s(agent).label("estimated_wait_s"),
        reason(agent).label("reason"),
    ]
    return select(*figures)


def active_conversations(agent: Row) -> ColumnElement[int]:
    """Among its newest ones, those that are open and in which something was said of late."""
    part, conversation = _PARTICIPANT.alias(), _CONVERSATION.alias()
    newest = (
        select(part.c.conversation_id)
        .where(part.c.team_id == agent.team_id, part.c.agent_id == agent.id, part.c.left_at.is_(None))
        .order_by(part.c.id.desc())
        .limit(literal_column(str(NEWEST_CONVERSATIONS)))
        .correlate_except(part)
        .subquery()
    )
    since = func.now() - literal_column(f"interval '{ACTIVE_CONVERSATION}'")
    return (
        select(func.count())
        .select_from(newest.join(conversation, conversation.c.id == newest.c.conversation_id))
        .where(conversation.c.status == literal_column("'open'"), conversation.c.updated_at > since)
        .correlate_except(newest, conversation)
        .scalar_subquery()
    )


def open_tasks(agent: Row) -> ColumnElement[int]:
    task = Task.__table__.alias()
    is_open = task.c.status.in_([_word(status) for status in sorted(OPEN)])  # as the index on open tasks has it
    mine = select(func.count()).where(task.c.team_id == agent.team_id, task.c.assignee_id == agent.id, is_open)
    return mine.correlate_except(task).scalar_subquery()


def attempt_seconds(agent: Row) -> ColumnElement[float]:
    """How long the completed attempts at its newest tasks took on average; null when it has completed none of them."""
    task, attempt = Task.__table__.alias(), TaskAttempt.__table__.alias()
    newest = (
        select(task.c.id)
        .where(task.c.team_id == agent.team_id, task.c.assignee_id == agent.id)
        .order_by(task.c.id.desc())
        .limit(literal_column(str(RECENT_TASKS)))
        .correlate_except(task)
        .subquery()
    )
    seconds = func.extract("epoch", attempt.c.ended_at - attempt.c.started_at)
    return (
        select(cast(func.avg(seconds), Double))
        .select_from(newest.join(attempt, attempt.c.task_id == newest.c.id))
        .where(attempt.c.agent_id == agent.id, attempt.c.outcome == _word(AttemptOutcome.COMPLETED))
        .correlate_except(newest, attempt)
        .scalar_subquery()
    )


def reason(agent: Row) -> ColumnElement[str | None]:
    """Why it takes no new task; null when it does."""
    return case(
        (agent.status == _word(AgentStatus.PAUSED), _word(UnavailableReason.PAUSED)),
        (agent.status == _word(AgentStatus.ARCHIVED), _word(UnavailableReason.ARCHIVED)),
        (open_tasks(agent) >= MAX_OPEN_TASKS, _word(UnavailableReason.AT_CAPACITY)),
        else_=null(),
    )


def estimated_wait_s(agent: Row) -> ColumnElement[int | None]:
    """As `app.routing.load` estimates it, in whole seconds; null when nobody can tell."""
    wait = open_tasks(agent) * attempt_seconds(agent)
    return case(
        (agent.status != _word(AgentStatus.ACTIVE), null()),
        (open_tasks(agent) == 0, 0),
        else_=cast(func.ceil(wait), Integer),
    )


def _word(value: str) -> ColumnElement[str]:
    return literal_column(f"'{value}'")
