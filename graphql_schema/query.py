"""The root of reading: one flat Query."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated

import strawberry
from sqlalchemy import and_

from app.auth.roles import Permission
from app.clock import now
from graphql_schema.collaborations import templates as collaboration_templates
from graphql_schema.context import Info
from graphql_schema.discovery import query as discovery
from graphql_schema.handoffs import trial
from graphql_schema.memories import query as memory_query
from graphql_schema.node import Node
from graphql_schema.planner.compiler import MOST_IDS
from graphql_schema.planner.connections import many
from graphql_schema.planner.mapping import AnyNode, Caller, one, planned_field, python
from graphql_schema.reports import query as report_query
from graphql_schema.routing import simulation
from graphql_schema.routing.rows import newest_policy
from graphql_schema.scalars import DateTime
from graphql_schema.team_files import query as team_file_query


@strawberry.type(description="What this key may still spend.")
class RateLimit:
    limit: int = strawberry.field(
        description="Points in a window. An operation costs about one point a row that it may return."
    )
    remaining: int = strawberry.field(description="Points that are certainly left in this window.")
    reset_at: DateTime = strawberry.field(description="When the window ends and all points are back.")


@strawberry.type(description="Everything that can be read. All of it is the caller's team's.")
class Query:
    viewer = one(
        "Viewer", "graphql_schema.auth.types", "Who is asking.", on=lambda _, viewer: viewer.id == Caller.key_id
    )
    team = one("Team", "graphql_schema.teams.types", "The caller's team.", on=lambda _, team: team.id == Caller.team_id)
    agent = one(
        "Agent",
        "graphql_schema.agents.types",
        "The agent with this slug; null when the team has none.",
        nullable=True,
        on=lambda _, agent, slug: agent.slug == slug,
        arguments={"slug": Annotated[str, strawberry.argument(description="The agent's slug, such as `kyra`.")]},
    )
    team_file = team_file_query.team_file
    agents = many("Agent", "graphql_schema.agents.types", "The team's agents, archived ones included.")
    find_experts = discovery.find_experts
    recommend_agents = discovery.recommend_agents
    contract = one(
        "Contract",
        "graphql_schema.contracts.types",
        "The present version of the contract with this name; null when the team has none, or has deleted it.",
        nullable=True,
        on=lambda _, contract, name: and_(contract.name == name, contract.retired_at.is_(None)),
        arguments={"name": Annotated[str, strawberry.argument(description="The contract's name, such as `reviewer`.")]},
    )
    contracts = many(
        "Contract",
        "graphql_schema.contracts.types",
        "The team's contracts in all their versions, built-in and deleted ones included.",
    )
    task = one(
        "Task",
        "graphql_schema.tasks.types",
        "The task with this id; null when the team has none.",
        nullable=True,
        on=lambda _, task, id: task.id == id,
        arguments={"id": Annotated[strawberry.ID, strawberry.argument(description="The task's id, `task_0190…`.")]},
    )
    tasks = many("Task", "graphql_schema.tasks.types", "The team's tasks, ended ones included.")
    dead_letters = many(
        "DeadLetter", "graphql_schema.tasks.types", "Tasks that failed for good, resolved ones included."
    )
    routing_decision = one(
        "RoutingDecision",
        "graphql_schema.routing.types",
        "The routing decision with this id; null when the team has none.",
        nullable=True,
        on=lambda _, decision, id: decision.id == id,
        arguments={
            "id": Annotated[strawberry.ID, strawberry.argument(description="The decision's id, `decision_0190…`.")]
        },
    )
    routing_decisions = many(
        "RoutingDecision",
        "graphql_schema.routing.types",
        "Who was selected to answer the team's messages, and why. An agent's key sees none of conversations in which "
        "its agent takes no part.",
    )
    routing_policy = one(
        "RoutingPolicy",
        "graphql_schema.routing.types",
        "How the team chooses now. Null before its first message and its first setRoutingPolicy: the defaults count.",
        nullable=True,
        on=lambda _, policy: policy.version == newest_policy(),
    )
    routing_policies = many(
        "RoutingPolicy", "graphql_schema.routing.types", "Every version of how the team chooses, the first one first."
    )
    conversation = one(
        "Conversation",
        "graphql_schema.conversations.types",
        "The conversation with this id; null when the team has none, or the key's agent takes no part in it.",
        nullable=True,
        on=lambda _, conversation, id: conversation.id == id,
        arguments={
            "id": Annotated[
                strawberry.ID, strawberry.argument(description="The conversation's id, `conversation_0190…`.")
            ]
        },
    )
    conversations = many(
        "Conversation",
        "graphql_schema.conversations.types",
        "The team's conversations, closed ones included. An agent's key sees those in which its agent takes part.",
    )
    memories = many(
        "Memory",
        "graphql_schema.memories.types",
        "What the team and its agents remember. To find what a text calls to mind, use recallMemories.",
    )
    recall_memories = memory_query.recall_memories
    group = one(
        "Group",
        "graphql_schema.groups.types",
        "The group with this slug; null when the team has none, or has dissolved it.",
        nullable=True,
        on=lambda _, group, slug: and_(group.slug == slug, group.dissolved_at.is_(None)),
        arguments={"slug": Annotated[str, strawberry.argument(description="The group's slug, such as `desk`.")]},
    )
    groups = many("Group", "graphql_schema.groups.types", "The team's groups, dissolved ones included.")
    simulate_routing = simulation.simulate_routing
    test_handoff_rule = trial.try_handoff_rules
    collaboration_session = one(
        "CollaborationSession",
        "graphql_schema.collaborations.types",
        "The collaboration session with this id; null when the team has none.",
        nullable=True,
        on=lambda _, session, id: session.id == id,
        arguments={
            "id": Annotated[strawberry.ID, strawberry.argument(description="The session's id, `collab_0190…`.")]
        },
    )
    collaboration_sessions = many(
        "CollaborationSession",
        "graphql_schema.collaborations.types",
        "The team's collaboration sessions, ended ones included.",
    )
    team_templates = collaboration_templates.team_templates
    report = one(
        "Report",
        "graphql_schema.reports.types",
        "The report with this id; null when the team has none.",
        nullable=True,
        on=lambda _, report, id: report.id == id,
        arguments={"id": Annotated[strawberry.ID, strawberry.argument(description="The report's id, `report_0190…`.")]},
    )
    reports = many("Report", "graphql_schema.reports.types", "The team's reports, ended ones included.")
    report_templates = report_query.report_templates
    consultation = one(
        "Consultation",
        "graphql_schema.consultations.types",
        "The consultation with this id; null when the team has none, or the key's agent takes no part in it.",
        nullable=True,
        on=lambda _, row, id: row.id == id,
        arguments={
            "id": Annotated[strawberry.ID, strawberry.argument(description="The consultation's id, `consult_0190…`.")]
        },
    )
    consultations = many(
        "Consultation",
        "graphql_schema.consultations.types",
        "The team's consultations, ended ones included. An agent's key sees those in which its agent asks or answers.",
    )
    agent_messages = many(
        "AgentMessage",
        "graphql_schema.messages.types",
        "What the team's agents said to each other. An agent's key sees what its agent sent or received.",
    )
    attention = many(
        "AttentionItem",
        "graphql_schema.attention.types",
        "Everything that needs or needed a person. An agent's key sees what its agent asked.",
    )
    events = many(
        "Event", "graphql_schema.events.types", "What happened in the team, as far back as retention goes.",
        needs=Permission.READ_EVENTS,
    )  # fmt: skip
    node = planned_field(
        Node | None,
        {"id": Annotated[strawberry.ID, strawberry.argument(description="Any id, such as `agent_0190…`.")]},
        "Whatever has this id; null when the team has no such thing.",
        AnyNode(many=False),
    )
    nodes = planned_field(
        list[Node | None],
        {"ids": Annotated[list[strawberry.ID], strawberry.argument(description=f"At most {MOST_IDS} ids.")]},
        "Whatever has these ids, in their order; null for each that the team does not have.",
        AnyNode(many=True),
    )

    @python("What this key may still spend.")
    async def rate_limit(self, info: Info) -> RateLimit:
        state = await info.context.services.limiter.peek(info.context.principal.key_id)
        return RateLimit(
            limit=state.limit, remaining=state.remaining, reset_at=DateTime(now() + timedelta(seconds=state.reset_s))
        )
