"""The schema: one flat Query, Mutation and Subscription made of the slices' parts."""

from __future__ import annotations

import strawberry

from graphql_schema.agents import mutation as agents
from graphql_schema.agents import types as agent_types
from graphql_schema.attention import mutation as attention
from graphql_schema.attention import overrides
from graphql_schema.attention import subscription as attention_streams
from graphql_schema.attention import types as attention_types
from graphql_schema.auth import mutation as auth
from graphql_schema.auth import types as auth_types
from graphql_schema.budgets import mutation as budgets
from graphql_schema.collaborations import mutation as collaborations
from graphql_schema.collaborations import subscription as collaboration_streams
from graphql_schema.collaborations import types as collaboration_types
from graphql_schema.consultations import mutation as consultations
from graphql_schema.consultations import subscription as consultation_streams
from graphql_schema.consultations import types as consultation_types
from graphql_schema.contracts import mutation as contracts
from graphql_schema.contracts import types as contract_types
from graphql_schema.conversations import mutation as conversations
from graphql_schema.conversations import subscription as conversation_streams
from graphql_schema.conversations import types as conversation_types
from graphql_schema.documents import mutation as documents
from graphql_schema.events import subscription as events
from graphql_schema.events import types as event_types
from graphql_schema.groups import mutation as groups
from graphql_schema.groups import types as group_types
from graphql_schema.handoffs import conversation_mutation as conversation_handoffs
from graphql_schema.handoffs import conversation_types as conversation_handoff_types
from graphql_schema.handoffs import mutation as handoffs
from graphql_schema.handoffs import types as handoff_types
from graphql_schema.memories import mutation as memories
from graphql_schema.memories import types as memory_types
from graphql_schema.messages import mutation as messages
from graphql_schema.messages import subscription as message_streams
from graphql_schema.messages import types as message_types
from graphql_schema.planner.exits import install
from graphql_schema.query import Query
from graphql_schema.reports import mutation as reports
from graphql_schema.reports import types as report_types
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
            "save_handoff_rule": handoffs.save_handoff_rule,
            "delete_handoff_rule": handoffs.delete_handoff_rule,
            "handoff_conversation": conversation_handoffs.handoff_conversation,
            "return_conversation": conversation_handoffs.return_conversation,
            "set_context_variables": conversation_handoffs.set_context_variables,
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
            "start_collaboration": collaborations.start_collaboration,
            "cancel_collaboration": collaborations.cancel_collaboration,
            "extend_collaboration": collaborations.extend_collaboration,
            "decide_subtask_failure": collaborations.decide_subtask_failure,
            "submit_stage_output": collaborations.submit_stage_output,
            "start_conversation": conversations.start_conversation,
            "send_message": conversations.send_message,
            "update_conversation_agents": conversations.update_conversation_agents,
            "cancel_reply": conversations.cancel_reply,
            "close_conversation": conversations.close_conversation,
            "remember": memories.remember,
            "forget": memories.forget,
            "save_group": groups.save_group,
            "dissolve_group": groups.dissolve_group,
            "send_agent_message": messages.send_agent_message,
            "broadcast_agent_message": messages.broadcast_agent_message,
            "acknowledge_inbox": messages.acknowledge_inbox,
            "override_routing": overrides.override_routing,
            "redirect_handoff": overrides.redirect_handoff,
            "ask_person": attention.ask_person,
            "answer_attention": attention.answer_attention,
            "assign_attention": attention.assign_attention,
            "request_report": reports.request_report,
            "request_consultation": consultations.request_consultation,
            "answer_consultation": consultations.answer_consultation,
            "clarify_consultation": consultations.clarify_consultation,
            "rate_consultation": consultations.rate_consultation,
            "set_message_policy": teams.set_message_policy,
            "set_feature_flags": teams.set_feature_flags,
            "set_team_budgets": teams.set_team_budgets,
            "set_agent_allowance": budgets.set_agent_allowance,
            "correct_task_cost": budgets.correct_task_cost,
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
            "attention_events": attention_streams.attention_events,
            "consultation_events": consultation_streams.consultation_events,
            "inbox_events": message_streams.inbox_events,
            "routing_events": routing_streams.routing_events,
            "collaboration_events": collaboration_streams.collaboration_events,
            "conversation_events": conversation_streams.conversation_events,
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
        attention_types.AttentionItem,
        attention_types.AttentionStep,
        auth_types.ApiKey,
        collaboration_types.CollaborationSession,
        collaboration_types.CollaborationStage,
        collaboration_types.CollaborationVote,
        consultation_types.Consultation,
        consultation_types.ConsultationExchange,
        consultation_types.ConsultationLoop,
        consultation_types.ConsultationUse,
        contract_types.Contract,
        conversation_types.Contribution,
        conversation_types.Conversation,
        conversation_types.ConversationParticipant,
        conversation_types.Message,
        conversation_types.Reply,
        event_types.Event,
        conversation_handoff_types.ConversationHandoff,
        conversation_handoff_types.StepDecision,
        conversation_handoff_types.ContextVariable,
        group_types.Group,
        handoff_types.HandoffRule,
        memory_types.Memory,
        message_types.AgentMessage,
        message_types.InboxEntry,
        report_types.Report,
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
