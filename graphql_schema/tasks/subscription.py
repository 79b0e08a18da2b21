"""Subscriptions to what happens to tasks."""

from __future__ import annotations

from typing import Annotated, Any

import strawberry

from app.auth.principal import Principal
from app.auth.roles import Permission, Role
from app.db.engine import Database
from app.errors import Forbidden
from app.events.kinds import EventKind
from app.events.reading import Topic
from app.ids import Prefix, from_global
from app.tasks.queries import has_part, root_of
from graphql_schema.events.subscription import AFTER, StreamItem, followed_agent
from graphql_schema.streams.field import stream

_TASK_KINDS = frozenset(kind for kind in EventKind if kind.startswith("task."))


async def _task_topic(principal: Principal, database: Database, arguments: dict[str, Any]) -> Topic:
    """An agent's own key may follow what that agent gave or has, and what came of it; others read events."""
    task_id = from_global(Prefix.TASK, arguments["taskId"], path="taskId")
    if principal.role is not Role.AGENT:
        principal.require(Permission.READ_EVENTS)
    root_id = await root_of(database, team_id=principal.team_id, task_id=task_id)
    if principal.role is Role.AGENT:
        assert principal.agent_id is not None
        if not await has_part(database, team_id=principal.team_id, task_id=task_id, agent_id=principal.agent_id):
            raise Forbidden(
                "This key acts as one agent and may follow only tasks that this agent gave or has, and those below."
            )
    return Topic(principal.team_id, task_id=task_id, root_id=root_id if arguments["includeDescendants"] else None)


async def _party_topic(principal: Principal, database: Database, arguments: dict[str, Any]) -> Topic:
    return Topic(principal.team_id, _TASK_KINDS, party_id=await followed_agent(principal, database, arguments))


task_events = stream(
    StreamItem,
    {
        "task_id": Annotated[strawberry.ID, strawberry.argument(description="The task's id, `task_0190…`.")],
        "include_descendants": (
            Annotated[
                bool,
                strawberry.argument(
                    description="Follow the tasks below it as well, at any depth, also those that are yet to come."
                ),
            ],
            False,
        ),
        "after": AFTER,
    },
    "What happens to one task, in one order, without gap or repeat: its status, progress, result and error, also when "
    "it is given to another agent or its dead letter is resolved. It does not end with the task, which may be retried. "
    "An agent's key may follow what its agent gave or has, and the tasks below.",
    _task_topic,
)
agent_task_events = stream(
    StreamItem,
    {
        "agent_id": Annotated[strawberry.ID, strawberry.argument(description="The agent's id, `agent_0190…`.")],
        "after": AFTER,
    },
    "What happens to the tasks that one agent gave or has, and when one is taken from it, in one order, without gap or "
    "repeat. Only the kinds that start with `TASK_`. An agent's key may follow its own agent.",
    _party_topic,
)
