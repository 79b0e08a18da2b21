"""Which of the team's memories an agent may read, on top of its own."""

from __future__ import annotations

from typing import Any

from sqlalchemy import ColumnElement, literal_column, or_

from app.auth.audience import in_audience, is_quotable

Row = Any  # the columns of `memory`


def readable_of_team(row: Row, *, team_id: Any, agent_id: Any) -> ColumnElement[bool]:
    """Of memories without an owner: what was told to the team, and what was made where the agent takes part."""
    return or_(_is_shared(row), in_audience(row, team_id=team_id, agent_id=agent_id))


def quotable_of_team(row: Row) -> ColumnElement[bool]:
    """Of memories without an owner: what a consultation may quote to any two agents."""
    return or_(_is_shared(row), is_quotable(row))


def _is_shared(row: Row) -> ColumnElement[bool]:
    """Told to everybody on purpose. Profiles have a rule of their own: they are for who speaks with the user."""
    shared: ColumnElement[bool] = row.kind.in_([literal_column("'shared'"), literal_column("'user_profile'")])
    return shared
