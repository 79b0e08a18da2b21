"""Agents, as the graph shows them."""

from __future__ import annotations

from typing import Annotated

import strawberry

from app.agents import models
from app.agents.spec import MAX_SKILLS
from app.discovery.availability import availability
from app.discovery.track_record import LONGEST_WINDOW, USUAL_WINDOW, check_since, track_record
from app.ids import Prefix
from app.messages.unread import unread_count
from graphql_schema.conversations.sight import context_for
from graphql_schema.groups.membership import has_agent
from graphql_schema.node import Node
from graphql_schema.planner.connections import many, publish_connection
from graphql_schema.planner.mapping import column, derived, embedded, expression, listing, mapped, one
from graphql_schema.scalars import DateTime, Moment, Usd

_SINCE = Annotated[
    Moment | None,
    strawberry.argument(
        description="The beginning of the window: a DateTime, or a distance from now such as `-P7D`; at most "
        f"{LONGEST_WINDOW.days} days back, {USUAL_WINDOW.days} by default."
    ),
]


@mapped(models.Skill.__table__)
@strawberry.type(description="Something that an agent is good at.")
class Skill:
    name: str = column("A few words; unique in the agent.")
    description: str = column("What it covers; queries are matched against it. May be empty.")


@mapped()
@strawberry.type(description="How an agent comes across, each trait 0 to 1.")
class Traits:
    formality: float = column("0 casual, 1 formal.")
    humor: float = column("0 dry, 1 playful.")
    technical_depth: float = column("0 plain words, 1 deep detail.")


@mapped(models.Agent.__table__, prefix=Prefix.AGENT)
@strawberry.type(description="A member of a team that answers, works and collaborates.")
class Agent(Node):
    slug: str = column("Short name, unique in the team; used in @mentions.", filter=True, order=True)
    name: str = column("The name to show.", filter=True, order=True)
    tagline: str = column("One line on what the agent is for; may be empty.", filter=True)
    role: str = column("The agent's part in the team; may be empty.", filter=True)
    personality: str = column("How the agent speaks and behaves; may be empty.", filter=True)
    traits: Traits = embedded("Personality in numbers.")
    skills = listing(
        "Skill",
        "graphql_schema.agents.types",
        f"What the agent is good at, best first; at most {MAX_SKILLS}.",
        on=lambda agent, skill: skill.agent_id == agent.id,
        order="position",
        most=MAX_SKILLS,
    )
    status: models.AgentStatus = column("Whether the agent takes part.", filter=True, order=True, group=True)
    type: models.AgentType = column("What kind of work the agent is made for.", filter=True, order=True, group=True)
    custom_type: str | None = column("The type's own name when type is CUSTOM, else null.", filter=True, order=True)
    tools: list[str] = column("Names of the tools that the agent may use.")
    model_tier: int = column(
        "Default tier of model: 0 small, 1 medium, 2 large.", filter=True, order=True, group=True, aggregate=True
    )
    runtime: models.AgentRuntime = column("Who runs the agent.", filter=True, group=True)
    day_allowance_usd: Usd | None = column(
        "What its key may spend in a UTC day on work that it starts outside any task; null: the installation's setting."
    )
    version: int = column("Counts changes of the agent, from 1.", filter=True, order=True, aggregate=True)
    created_at: DateTime = column("When the agent was created.", filter=True, order=True, group=True, aggregate=True)
    updated_at: DateTime = column("When the agent was last changed.", filter=True, order=True, aggregate=True)
    archived_at: DateTime | None = column("When the agent was archived; null before.", filter=True, order=True)
    availability = derived(
        "Availability", "graphql_schema.discovery.types", "Whether the agent takes new work, now.", availability
    )
    track_record = derived(
        "TrackRecord", "graphql_schema.discovery.types", "How the agent did, over a window that ends now.",
        track_record, arguments={"since": (_SINCE, strawberry.UNSET)}, checks={"since": check_since}, cost=5,
    )  # fmt: skip
    team = one(
        "Team", "graphql_schema.teams.types", "The team that the agent belongs to.",
        on=lambda agent, team: team.id == agent.team_id,
    )  # fmt: skip
    tasks = many(
        "Task", "graphql_schema.tasks.types", "The tasks that were given to the agent.",
        on=lambda agent, task: task.assignee_id == agent.id,
    )  # fmt: skip
    memories = many(
        "Memory", "graphql_schema.memories.types", "What the agent alone remembers; the team's come on top of it.",
        on=lambda agent, memory: memory.agent_id == agent.id,
    )  # fmt: skip
    groups = many(
        "Group", "graphql_schema.groups.types", "The groups that it is in or coordinates, dissolved ones left out.",
        on=has_agent,
    )  # fmt: skip
    context_for = context_for
    delegated_tasks = many(
        "Task", "graphql_schema.tasks.types", "The tasks that the agent gave to others.",
        on=lambda agent, task: task.creator_id == agent.id,
    )  # fmt: skip
    inbox = many(
        "InboxEntry", "graphql_schema.messages.types",
        "The messages that the agent received, oldest first. Newest and unread first: orderBy UNREAD and RECEIVED_AT, "
        "both DESC. An agent's key sees its own agent's inbox; of another's only what its agent sent.",
        on=lambda agent, entry: entry.agent_id == agent.id,
    )  # fmt: skip
    sent_messages = many(
        "AgentMessage", "graphql_schema.messages.types", "The messages that the agent sent.",
        on=lambda agent, message: message.sender_id == agent.id,
    )  # fmt: skip
    unread_count: int = expression(
        "How many unread messages its inbox holds that have not expired. At PARLEY_INBOX_LIMIT it takes no more.",
        unread_count,
    )


publish_connection(Agent)
