"""Which agents belong to a group, in SQL."""

from __future__ import annotations

from typing import Any

from sqlalchemy import ColumnElement, and_, or_, select

from app.groups.models import AgentGroupMember


def is_member(group: Any, agent: Any) -> ColumnElement[bool]:
    """Whether the agent was put into the group itself."""
    link = AgentGroupMember.__table__.alias()
    found = select(link.c.agent_id).where(link.c.group_id == group.id, link.c.agent_id == agent.id)
    return found.correlate_except(link).exists()


def has_agent(agent: Any, group: Any) -> ColumnElement[bool]:
    """Whether a living group has the agent in it, or as its coordinator."""
    return and_(group.dissolved_at.is_(None), or_(group.coordinator_id == agent.id, is_member(group, agent)))
