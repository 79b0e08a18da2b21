"""Who may read what was made in a conversation or a consultation: the agents that take part in it.

The rule exists once, as SQL. The graph reads by it, memories are recalled by it, and reports are downloaded by it.
Conversations and consultations stand above this module, so their tables are read by their names.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import ColumnElement, Select, and_, column, or_, select, table

Row = Any  # the columns of a table that has `conversation_id` and `consultation_id`
Value = Any  # a parameter or a literal


def conversations_of(team_id: Value, agent_id: Value) -> Select[Any]:
    """The conversations in which the agent takes part now. Nothing of an outer row is in it: Postgres runs it once."""
    seat = table(
        "conversation_participant", *map(column, ("team_id", "conversation_id", "agent_id", "left_at"))
    ).alias()
    return select(seat.c.conversation_id).where(
        seat.c.team_id == team_id, seat.c.agent_id == agent_id, seat.c.left_at.is_(None)
    )


def consultations_of(team_id: Value, agent_id: Value) -> Select[Any]:
    """The consultations in which the agent asks or answers."""
    consultation = table("consultation", *map(column, ("id", "team_id", "requester_id", "specialist_id"))).alias()
    party = or_(consultation.c.requester_id == agent_id, consultation.c.specialist_id == agent_id)
    return select(consultation.c.id).where(consultation.c.team_id == team_id, party)


def in_audience(row: Row, *, team_id: Value, agent_id: Value) -> ColumnElement[bool]:
    """Whether the agent takes part in the conversation and the consultation that the row was made in, where it was."""
    return and_(
        or_(row.conversation_id.is_(None), row.conversation_id.in_(conversations_of(team_id, agent_id))),
        or_(row.consultation_id.is_(None), row.consultation_id.in_(consultations_of(team_id, agent_id))),
    )


def is_quotable(row: Row) -> ColumnElement[bool]:
    """Whether later consultations of any agents may quote the row: it was made in no conversation, and in no
    consultation that was asked in a conversation or, since `redacts` marks such work, in another consultation."""
    consultation = table("consultation", *map(column, ("id", "asking_task_id"))).alias()
    task = table("task", *map(column, ("id", "conversation_id", "redacts"))).alias()
    private = (
        select(consultation.c.id)
        .join(task, task.c.id == consultation.c.asking_task_id)
        .where(consultation.c.id == row.consultation_id)
        .where(or_(task.c.conversation_id.is_not(None), task.c.redacts.is_not(None)))
        .correlate_except(consultation, task)
    )
    return and_(row.conversation_id.is_(None), ~private.exists())
