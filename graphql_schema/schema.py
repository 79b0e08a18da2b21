"""The schema: one flat Query, Mutation and Subscription made of the slices' parts."""

from __future__ import annotations

import strawberry

from graphql_schema.agents import mutation as agents
from graphql_schema.agents import types as agent_types
from graphql_schema.auth import mutation as auth
from graphql_schema.auth import types as auth_types
from graphql_schema.contracts import mutation as contracts
from graphql_schema.contracts import types as contract_types
from graphql_schema.documents import mutation as documents
from graphql_schema.events import subscription as events
from graphql_schema.events import types as event_types
from graphql_schema.handoffs import types as handoff_types
from graphql_schema.planner.exits import install
from graphql_schema.query import Query
from graphql_schema.routing import mutation as routing
from graphql_schema.routing import subscription as routing_streams
from graphql_schema.routing import types as routing_types
from graphql_schema.scalars import CONFIG
from graphql_schema.tasks import mutation as tasks
from graphql_schema.tasks import subscription as task_streams
from graphql_schema.tasks import types as task_types
from graphql_schema.tasks import work
from graphql_schema.team_files import mutation as team_files
from graphql_schema.teams import mutation as teams
from graphql_schema.teams import types as team_types

Mutation = strawberry.type(
    type(
        "Mutation",
        (),
        {
            "create_agent": agents.create_agent,
            "update_agent": agents.update_agent,
            "pause_agent": agents.pause_agent,
            "resume_agent": agents.resume_agent,
            "archive_agent": agents.archive_agent,
            "apply_team": team_files.apply_team,
            "register_documents": documents.register_documents,
            "limit_roles_to_trusted_documents": documents.limit_roles_to_trusted_documents,
            "save_contract": contracts.save_contract,
            "delete_contract": contracts.delete_contract,
            "delegate_task": tasks.delegate_task,
            "cancel_task": tasks.cancel_task,
            "retry_task": tasks.retry_task,
            "reassign_task": tasks.reassign_task,
            "replay_dead_letter": tasks.replay_dead_letter,
            "discard_dead_letter": tasks.discard_dead_letter,
            "claim_task": work.claim_task,
            "heartbeat_task": work.heartbeat_task,
            "record_tool_call": work.record_tool_call,
            "complete_task": work.complete_task,
            "fail_task": work.fail_task,
            "route_message": routing.route_message,
            "rate_response": routing.rate_response,
            "record_routing_outcome": routing.record_routing_outcome,
            "set_routing_policy": routing.set_routing_policy,
            "set_feature_flags": teams.set_feature_flags,
            "set_team_budgets": teams.set_team_budgets,
            "create_api_key": auth.create_api_key,
            "revoke_api_key": auth.revoke_api_key,
        },
    ),
    description="Everything that can be changed. Each answers with its payload or with a typed refusal.",
)

Subscription = strawberry.type(
    type(
        "Subscription",
        (),
        {
            "team_events": events.team_events,
            "agent_events": events.agent_events,
            "task_events": task_streams.task_events,
            "agent_task_events": task_streams.agent_task_events,
            "routing_events": routing_streams.routing_events,
        },
    ),
    description="Everything that can be followed live, over WebSocket (graphql-transport-ws) or server-sent events.",
)

schema = strawberry.Schema(
    query=Query,
    mutation=Mutation,
    subscription=Subscription,
    types=[
        agent_types.Agent,
        auth_types.ApiKey,
        contract_types.Contract,
        event_types.Event,
        handoff_types.HandoffRule,
        routing_types.RoutingDecision,
        routing_types.RoutingPolicy,
        task_types.DeadLetter,
        task_types.Task,
        task_types.TaskAttempt,
        task_types.ToolCall,
        team_types.Team,
    ],
    config=CONFIG,
)
install(schema._schema)
