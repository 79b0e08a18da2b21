"""How an agent did lately, as SQL over its row: how often it was chosen, how it was rated, what it completed and cost.

Each source is one aggregate, joined so that Postgres leaves out those of which nothing is asked.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, DateTime, Double, Select, case, cast, func, literal_column, select, true

from app.clock import now
from app.errors import InvalidInput
from app.routing.models import RoutingCandidate, RoutingDecision, RoutingRating
from app.tasks.models import AttemptOutcome, Task, TaskAttempt, TaskStatus, ToolCall

USUAL_WINDOW = timedelta(days=30)
LONGEST_WINDOW = timedelta(days=365)
_SLACK = timedelta(minutes=1)  # between a client's clock, or the moment that it asked, and ours
_COUNTED = (TaskStatus.COMPLETED, TaskStatus.FAILED, TaskStatus.TIMED_OUT)  # a cancellation says nothing of the agent
Row = Any  # the columns of an agent: `row.id`


def check_since(since: datetime) -> datetime:
    """Raises InvalidInput for a window that ends before it begins, or that is too long."""
    age = now() - since
    if not -_SLACK <= age <= LONGEST_WINDOW + _SLACK:
        raise InvalidInput.of("since", f"must lie in the past, at most {LONGEST_WINDOW.days} days back")
    return since


def track_record(agent: Row, since: ColumnElement[datetime] | None = None) -> Select[Any]:
    """One row of figures since a moment, by default that of the usual window."""
    begin = func.now() - USUAL_WINDOW if since is None else since
    chosen, also, rated = _chosen(agent, begin), _also_chosen(agent, begin), _rated(agent, begin)
    tasks, attempts, calls = _tasks(agent, begin), _attempts(agent, begin), _tool_calls(agent, begin)
    one = select(cast(begin, DateTime(timezone=True)).label("since")).subquery()
    source: Any = one
    for part in (chosen, also, rated, tasks, attempts, calls):
        source = source.outerjoin(part, true())
    figures = [column for part in (chosen, rated, tasks, attempts, calls) for column in part.c]
    selections = (chosen.c.first_choices + also.c.selections).label("selections")
    return select(one.c.since, selections, *figures).select_from(source)


def _chosen(agent: Row, begin: Any) -> Any:
    decision = RoutingDecision.__table__.alias()
    seconds = decision.c.response_ms / 1000.0
    return (
        select(
            func.count().label("first_choices"),
            _percentile(0.5, seconds).label("median_response_s"),
            _percentile(0.95, seconds).label("p95_response_s"),
            func.coalesce(func.sum(decision.c.actual_cost), 0).label("answer_cost"),
        )
        .where(
            decision.c.team_id == agent.team_id,
            decision.c.selected_agent_id == agent.id,
            decision.c.created_at >= begin,
        )
        .correlate_except(decision)
        .subquery()
    )


def _also_chosen(agent: Row, begin: Any) -> Any:
    """Chosen beside another agent, which came first."""
    candidate, decision = RoutingCandidate.__table__.alias(), RoutingDecision.__table__.alias()
    return (
        select(func.count().label("selections"))
        .select_from(candidate.join(decision, decision.c.id == candidate.c.decision_id))
        .where(
            candidate.c.team_id == agent.team_id,
            candidate.c.agent_id == agent.id,
            candidate.c.selected,
            decision.c.selected_agent_id != agent.id,
            decision.c.created_at >= begin,
        )
        .correlate_except(candidate, decision)
        .subquery()
    )


def _rated(agent: Row, begin: Any) -> Any:
    rating = RoutingRating.__table__.alias()
    return (
        select(func.count().label("ratings"), cast(func.avg(rating.c.stars), Double).label("mean_stars"))
        .where(rating.c.team_id == agent.team_id, rating.c.agent_id == agent.id, rating.c.created_at >= begin)
        .correlate_except(rating)
        .subquery()
    )


def _tasks(agent: Row, begin: Any) -> Any:
    task = Task.__table__.alias()
    completed = func.count(case((task.c.status == _word(TaskStatus.COMPLETED), 1)))
    return (
        select(
            func.count().label("tasks_ended"),
            completed.label("tasks_completed"),
            (cast(completed, Double) / func.nullif(func.count(), 0)).label("success_share"),
        )
        .where(
            task.c.team_id == agent.team_id,
            task.c.assignee_id == agent.id,
            task.c.finished_at >= begin,
            task.c.status.in_([_word(status) for status in _COUNTED]),
        )
        .correlate_except(task)
        .subquery()
    )


def _attempts(agent: Row, begin: Any) -> Any:
    attempt = TaskAttempt.__table__.alias()
    is_completed = attempt.c.outcome == _word(AttemptOutcome.COMPLETED)
    took = func.coalesce(attempt.c.ended_at, func.now()) - attempt.c.started_at
    seconds = case((is_completed, func.extract("epoch", attempt.c.ended_at - attempt.c.started_at)))
    return (
        select(
            func.count().label("attempts"),
            func.coalesce(func.sum(cast(func.extract("epoch", took), Double)), 0.0).label("work_s"),
            _percentile(0.5, seconds).label("median_attempt_s"),
            _percentile(0.95, seconds).label("p95_attempt_s"),
            func.coalesce(func.sum(attempt.c.cost), 0).label("attempt_cost"),
        )
        .where(
            attempt.c.team_id == agent.team_id,
            attempt.c.agent_id == agent.id,
            attempt.c.started_at >= begin,
        )
        .correlate_except(attempt)
        .subquery()
    )


def _tool_calls(agent: Row, begin: Any) -> Any:
    attempt, call = TaskAttempt.__table__.alias(), ToolCall.__table__.alias()
    return (
        select(func.count().label("tool_calls"))
        .select_from(attempt.join(call, call.c.attempt_id == attempt.c.id))
        .where(
            attempt.c.team_id == agent.team_id,
            attempt.c.agent_id == agent.id,
            attempt.c.started_at >= begin,
        )
        .correlate_except(attempt, call)
        .subquery()
    )


def _percentile(share: float, values: ColumnElement[Any]) -> ColumnElement[Any]:
    return func.percentile_cont(literal_column(str(share))).within_group(cast(values, Double))


def _word(value: str) -> ColumnElement[str]:
    return literal_column(f"'{value}'")
