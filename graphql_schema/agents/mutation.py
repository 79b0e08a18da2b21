"""Mutations of agents."""

from __future__ import annotations

from typing import Any

import strawberry

from app.agents import service as agents
from app.agents.models import AgentRuntime, AgentStatus, AgentType
from app.agents.spec import parse_agent
from app.auth.roles import Permission
from app.ids import Prefix, from_global
from graphql_schema.agents.types import Agent
from graphql_schema.mutations import MutationInput, Payload, Work, mutation
from graphql_schema.planner.mapping import entity
from graphql_schema.refusals import Conflict, NotFound

UNSET = strawberry.UNSET


@strawberry.input(description="Something that an agent is good at.")
class SkillInput:
    name: str = strawberry.field(description="A few words, 1 to 120 characters; unique in the agent.")
    description: str = strawberry.field(default="", description="What it covers, up to 1,000 characters.")


@strawberry.input(
    description="How an agent comes across, each trait 0 to 1. An absent one stays as it is; 0.5 at first."
)
class TraitsInput:
    formality: float | None = strawberry.field(default=UNSET, description="0 casual, 1 formal.")
    humor: float | None = strawberry.field(default=UNSET, description="0 dry, 1 playful.")
    technical_depth: float | None = strawberry.field(default=UNSET, description="0 plain words, 1 deep detail.")


@strawberry.input(description="A new agent.")
class CreateAgentInput(MutationInput):
    slug: str = strawberry.field(
        description="Short name, unique in the team: lower-case letters, digits, inner hyphens; up to 63 characters. "
        "Cannot be changed."
    )
    name: str = strawberry.field(description="The name to show, 1 to 120 characters.")
    tagline: str = strawberry.field(default="", description="One line on what the agent is for, up to 200 characters.")
    role: str = strawberry.field(default="", description="The agent's part in the team, up to 500 characters.")
    personality: str = strawberry.field(
        default="", description="How the agent speaks and behaves, up to 8,000 characters."
    )
    traits: TraitsInput | None = strawberry.field(
        default=UNSET, description="Personality in numbers; each 0.5 by default."
    )
    skills: list[SkillInput] = strawberry.field(
        default_factory=list, description="What the agent is good at, best first; up to 50."
    )
    type: AgentType = strawberry.field(
        default=AgentType.GENERAL, description="What kind of work the agent is made for."
    )
    custom_type: str | None = strawberry.field(
        default=UNSET, description="The type's own name, 1 to 63 characters, with type CUSTOM only."
    )
    tools: list[str] = strawberry.field(
        default_factory=list, description="Names of the tools that the agent may use; up to 50."
    )
    model_tier: int = strawberry.field(default=1, description="Default tier of model: 0 small, 1 medium, 2 large.")
    runtime: AgentRuntime = strawberry.field(default=AgentRuntime.MANAGED, description="Who runs the agent.")


@strawberry.input(
    description="Changes of an agent. A field that is absent or null stays as it is; customType is removed by null."
)
class UpdateAgentInput(MutationInput):
    agent_id: strawberry.ID = strawberry.field(description="Which agent.")
    expected_version: int | None = strawberry.field(
        default=UNSET, description="Refuse when the agent has changed since this version was read."
    )
    name: str | None = strawberry.field(default=UNSET, description="The name to show, 1 to 120 characters.")
    tagline: str | None = strawberry.field(
        default=UNSET, description="One line on what the agent is for, up to 200 characters."
    )
    role: str | None = strawberry.field(
        default=UNSET, description="The agent's part in the team, up to 500 characters."
    )
    personality: str | None = strawberry.field(
        default=UNSET, description="How the agent speaks and behaves, up to 8,000 characters."
    )
    traits: TraitsInput | None = strawberry.field(default=UNSET, description="Personality in numbers.")
    skills: list[SkillInput] | None = strawberry.field(default=UNSET, description="All skills, best first; up to 50.")
    type: AgentType | None = strawberry.field(default=UNSET, description="What kind of work the agent is made for.")
    custom_type: str | None = strawberry.field(
        default=UNSET, description="The type's own name, 1 to 63 characters, with type CUSTOM only; null removes it."
    )
    tools: list[str] | None = strawberry.field(default=UNSET, description="All tools that the agent may use; up to 50.")
    model_tier: int | None = strawberry.field(
        default=UNSET, description="Default tier of model: 0 small, 1 medium, 2 large."
    )
    runtime: AgentRuntime | None = strawberry.field(default=UNSET, description="Who runs the agent.")


@strawberry.input(description="Which agent to pause, and why.")
class PauseAgentInput(MutationInput):
    agent_id: strawberry.ID = strawberry.field(description="Which agent.")
    reason: str = strawberry.field(default="", description="Why, for the event log; up to 500 characters.")


@strawberry.input(description="Which agent to resume, and why.")
class ResumeAgentInput(PauseAgentInput):
    pass


@strawberry.input(description="Which agent to archive, and why.")
class ArchiveAgentInput(PauseAgentInput):
    pass


@strawberry.type(description="The agent after the change.")
class AgentPayload(Payload):
    agent: Agent = entity("The agent, as it is now.")


_AGENT_FIELDS = (
    "slug", "name", "tagline", "role", "personality", "traits", "skills", "type", "custom_type", "tools", "model_tier",
    "runtime",
)  # fmt: skip


def _given(input: Any) -> dict[str, Any]:
    """The fields that the caller gave; null counts as absent where a value is needed."""
    given = {name: getattr(input, name, UNSET) for name in _AGENT_FIELDS}
    given = {n: v for n, v in given.items() if v is not UNSET and (v is not None or n == "custom_type")}
    if "traits" in given:
        given["traits"] = {name: value for name, value in vars(given["traits"]).items() if value is not UNSET}
    if "skills" in given:
        given["skills"] = [vars(skill) for skill in given["skills"]]
    return given


@mutation(
    "Creates an agent. A team's first agent becomes its default.", needs=Permission.WRITE_AGENTS, refusals=(Conflict,)
)
async def create_agent(work: Work, input: CreateAgentInput) -> AgentPayload:
    spec = parse_agent(_given(input))
    agent = await agents.create(work.session, team_id=work.team_id, spec=spec, actor=work.actor)
    return AgentPayload(agent=agent.id)  # type: ignore[arg-type]


@mutation("Changes an agent.", needs=Permission.WRITE_AGENTS, refusals=(NotFound, Conflict))
async def update_agent(work: Work, input: UpdateAgentInput) -> AgentPayload:
    agent = await agents.update_fields(
        work.session,
        team_id=work.team_id,
        agent_id=from_global(Prefix.AGENT, input.agent_id, path="agentId"),
        fields=_given(input),
        actor=work.actor,
        expected_version=None if input.expected_version is UNSET else input.expected_version,
    )
    return AgentPayload(agent=agent.id)  # type: ignore[arg-type]


async def _change_status(work: Work, input: PauseAgentInput, wanted: AgentStatus) -> AgentPayload:
    agent = await agents.change_status(
        work.session,
        team_id=work.team_id,
        agent_id=from_global(Prefix.AGENT, input.agent_id, path="agentId"),
        wanted=wanted,
        actor=work.actor,
        reason=input.reason,
    )
    return AgentPayload(agent=agent.id)  # type: ignore[arg-type]


@mutation(
    "Pauses an active agent: it takes no new work.", needs=Permission.CONTROL_AGENTS, refusals=(NotFound, Conflict)
)
async def pause_agent(work: Work, input: PauseAgentInput) -> AgentPayload:
    return await _change_status(work, input, AgentStatus.PAUSED)


@mutation("Resumes a paused agent.", needs=Permission.CONTROL_AGENTS, refusals=(NotFound, Conflict))
async def resume_agent(work: Work, input: ResumeAgentInput) -> AgentPayload:
    return await _change_status(work, input, AgentStatus.ACTIVE)


@mutation(
    "Archives an agent for good. Its history stays.", needs=Permission.WRITE_AGENTS, refusals=(NotFound, Conflict)
)
async def archive_agent(work: Work, input: ArchiveAgentInput) -> AgentPayload:
    return await _change_status(work, input, AgentStatus.ARCHIVED)
