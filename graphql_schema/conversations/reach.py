"""Which conversations a caller may read: an agent's key those in which its agent takes part, other keys the team's."""

from __future__ import annotations

from typing import Any

from sqlalchemy import ColumnElement, and_, false, func, not_, or_, select, union

from app.auth.audience import consultations_of, conversations_of
from app.collaborations.models import Collaboration, CollaborationParticipant
from app.consultations.models import Consultation, ConsultationExchange
from app.conversations import models
from app.reports.models import Report
from app.tasks.models import Task
from graphql_schema.planner.mapping import Caller
from graphql_schema.planner.sql import word

Row = Any  # an alias's columns


def readable_conversation(row: Row) -> ColumnElement[bool]:
    return and_(row.team_id == Caller.team_id, open_to_caller(row.id))


def readable_within(row: Row) -> ColumnElement[bool]:
    """Of what belongs to a conversation, by its `conversation_id`."""
    return and_(row.team_id == Caller.team_id, open_to_caller(row.conversation_id))


def readable_contribution(row: Row) -> ColumnElement[bool]:
    reply: Any = models.Reply.__table__.alias()
    mine = select(reply.c.conversation_id).where(reply.c.id == row.reply_id).correlate_except(reply).scalar_subquery()
    return and_(row.team_id == Caller.team_id, open_to_caller(mine))


def readable_where_there_is_one(row: Row) -> ColumnElement[bool]:
    """Of what may belong to a conversation, and then says what was said there."""
    return and_(row.team_id == Caller.team_id, or_(row.conversation_id.is_(None), open_to_caller(row.conversation_id)))


def readable_decision(row: Row) -> ColumnElement[bool]:
    """A decision also says what was asked in a consultation, which is for who asks and who answers."""
    asked: Any = Consultation.__table__.alias()
    own = or_(asked.c.requester_id == Caller.agent_id, func.coalesce(asked.c.specialist_id == Caller.agent_id, false()))
    of_others = select(asked.c.decision_id).where(
        asked.c.team_id == Caller.team_id, asked.c.decision_id.is_not(None), not_(own)
    )
    return and_(readable_where_there_is_one(row), or_(Caller.agent_id.is_(None), row.id.not_in(of_others)))


def readable_task(row: Row) -> ColumnElement[bool]:
    """An agent also sees what it is to do, and what it gave to others, for conversations of which it is no part. Work
    for a consultation, which alone has something taken out of it, is seen by who takes part in it and by who asked."""
    own = or_(row.assignee_id == Caller.agent_id, row.creator_id == Caller.agent_id)
    ordered = row.root_id.in_(_asked_for())
    within = or_(row.conversation_id.is_(None), own, open_to_caller(row.conversation_id), ordered)
    asked = or_(row.redacts.is_(None), Caller.agent_id.is_(None), own, _in_line(row), ordered)
    session = or_(row.collaboration_id.is_(None), Caller.agent_id.is_(None), own, _has_readable_session(row))
    return and_(row.team_id == Caller.team_id, within, asked, session)


def readable_session(row: Row) -> ColumnElement[bool]:
    """A session for a conversation is for who takes part in either; any other is the team's."""
    return and_(row.team_id == Caller.team_id, or_(Caller.agent_id.is_(None), _takes_part_in_session(row)))


def readable_of_session(row: Row) -> ColumnElement[bool]:
    """Of what belongs to a session, by its `collaboration_id`."""
    return and_(row.team_id == Caller.team_id, or_(Caller.agent_id.is_(None), _has_readable_session(row)))


def _takes_part_in_session(row: Row) -> ColumnElement[bool]:
    seat: Any = CollaborationParticipant.__table__.alias()
    seats = select(seat.c.collaboration_id).where(seat.c.team_id == Caller.team_id, seat.c.agent_id == Caller.agent_id)
    return or_(
        row.conversation_id.is_(None),
        func.coalesce(row.lead_id == Caller.agent_id, false()),
        row.conversation_id.in_(taken_part_in()),
        row.id.in_(seats),
    )


def _has_readable_session(row: Row) -> ColumnElement[bool]:
    session: Any = Collaboration.__table__.alias()
    query = select(session.c.id).where(session.c.id == row.collaboration_id, _takes_part_in_session(session.c))
    return query.correlate_except(session).exists()


def readable_of_task(row: Row) -> ColumnElement[bool]:
    """Of what belongs to a task, by its `task_id`."""
    task: Any = Task.__table__.alias()
    seen = select(task.c.id).where(task.c.id == row.task_id, readable_task(task.c)).correlate_except(task).exists()
    return and_(row.team_id == Caller.team_id, or_(Caller.agent_id.is_(None), seen))


def readable_letter(row: Row) -> ColumnElement[bool]:
    """Of dead letters an agent sees those of tasks that it gave or has, and those below: all others are for people."""
    task: Any = Task.__table__.alias()
    mine = select(task.c.id).where(task.c.id == row.task_id, _in_line(task.c)).correlate_except(task).exists()
    return and_(readable_of_task(row), or_(Caller.agent_id.is_(None), mine))


def _in_line(row: Row) -> ColumnElement[bool]:
    """Whether the caller's agent gave or has the task, or one above it."""
    above: Any = Task.__table__.alias()
    line = above.c.id.in_([row.id, row.parent_id, row.grandparent_id, row.root_id])
    part = or_(above.c.assignee_id == Caller.agent_id, above.c.creator_id == Caller.agent_id)
    return select(above.c.id).where(line, part).correlate_except(above).exists()


def _asked_for() -> Any:
    """The tasks in which others answer what the caller's agent asked, or write reports that were ordered meanwhile."""
    asked: Any = Consultation.__table__.alias()
    said: Any = ConsultationExchange.__table__.alias()
    mine = and_(asked.c.team_id == Caller.team_id, asked.c.requester_id == Caller.agent_id)
    before = select(said.c.task_id).join(asked, asked.c.id == said.c.consultation_id)
    report: Any = Report.__table__.alias()
    ordered = and_(
        report.c.team_id == Caller.team_id,
        or_(
            report.c.requester_id == Caller.agent_id,
            report.c.consultation_id.in_(consultations_of(Caller.team_id, Caller.agent_id)),
        ),
    )
    return union(
        select(asked.c.task_id).where(mine, asked.c.task_id.is_not(None)),
        before.where(mine, said.c.task_id.is_not(None)),
        select(report.c.task_id).where(ordered),
        select(report.c.repair_task_id).where(ordered, report.c.repair_task_id.is_not(None)),
    )


def open_to_caller(conversation_id: Any) -> ColumnElement[bool]:
    return or_(Caller.agent_id.is_(None), conversation_id.in_(taken_part_in()))


def spoken_with() -> Any:
    """The ids of the users with whom the caller's agent has an open conversation."""
    conversation: Any = models.Conversation.__table__.alias()
    return select(conversation.c.user_id).where(
        conversation.c.team_id == Caller.team_id,
        conversation.c.id.in_(taken_part_in()),
        conversation.c.status == word(models.ConversationStatus.OPEN),
        conversation.c.user_id.is_not(None),
    )


def taken_part_in() -> Any:
    """The conversations in which the caller's agent takes part now."""
    return conversations_of(Caller.team_id, Caller.agent_id)
