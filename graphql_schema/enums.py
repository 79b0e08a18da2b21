"""Puts every enum of the domain into the schema. Imported before any type that uses one."""

from graphql_schema.agents import enums as agents
from graphql_schema.attention import enums as attention
from graphql_schema.auth import enums as auth
from graphql_schema.budgets import enums as budgets
from graphql_schema.collaborations import enums as collaborations
from graphql_schema.conversations import enums as conversations
from graphql_schema.events import enums as events
from graphql_schema.messages import enums as messages
from graphql_schema.routing import enums as routing
from graphql_schema.tasks import enums as tasks
from graphql_schema.teams import enums as teams

__all__ = [
    "agents",
    "attention",
    "auth",
    "budgets",
    "collaborations",
    "conversations",
    "events",
    "messages",
    "routing",
    "tasks",
    "teams",
]
