"""Who can do what, who is free and who did well, as the graph shows it."""

from __future__ import annotations

import strawberry

from app.discovery.experts import HELD
from app.discovery.queries import FoundExpert
from app.discovery.queries import Recommendation as Recommended
from app.discovery.recommendations import EXCERPT
from app.routing.facts import RECENT_TASKS
from app.tasks.availability import MAX_OPEN_TASKS
from app.tasks.errors import UnavailableReason
from graphql_schema.agents.types import Agent
from graphql_schema.planner.mapping import column, entity, mapped
from graphql_schema.scalars import DateTime, Usd


@mapped()
@strawberry.type(description="Whether an agent takes new work, and how soon it would come to it.")
class Availability:
    available: bool = column(
        f"Whether a task can be given to it: it is active and has fewer than {MAX_OPEN_TASKS} open tasks."
    )
    active_tasks: int = column("How many tasks it has that are pending or in progress.")
    active_conversations: int = column(
        "How many of the newest 50 conversations that it takes part in are open and had a message in the last hour."
    )
    estimated_wait_seconds: int | None = column(
        f"Its open tasks times what the completed attempts at its newest {RECENT_TASKS} tasks took on average, in "
        "whole seconds; 0 when it is idle. Null when nobody can tell: it is not active, or completed none of them.",
        name="estimated_wait_s",
    )
    reason: UnavailableReason | None = column("Why it takes no new task; null when it does.")


@mapped()
@strawberry.type(description="How an agent did, over a window of time that ends now.")
class TrackRecord:
    since: DateTime = column("When the window begins.")
    first_choices: int = column("How many routing decisions chose it before all others.")
    selections: int = column("How many routing decisions chose it at all: first, or beside others.")
    ratings: int = column("How many ratings its answers got.")
    mean_stars: float | None = column("The mean of those ratings, 1 to 5 stars; null without any.")
    tasks_ended: int = column("How many of its tasks completed, failed or timed out. Cancelled ones do not count.")
    tasks_completed: int = column("How many of these completed.")
    success_share: float | None = column("Completed of ended tasks, 0 to 1; null when none ended.")
    attempts: int = column("How many attempts at tasks it began.")
    work_seconds: float = column(
        "How long these attempts took together, in seconds; one under way counts until now.", name="work_s"
    )
    tool_calls: int = column("How many tools it called in attempts at tasks.")
    median_attempt_seconds: float | None = column(
        "Half of its completed attempts took no longer, in seconds; null without any.", name="median_attempt_s"
    )
    p95_attempt_seconds: float | None = column(
        "95 % of its completed attempts took no longer, in seconds; null without any.", name="p95_attempt_s"
    )
    attempt_cost: Usd = column("What its attempts at tasks cost.")
    median_response_seconds: float | None = column(
        "Half of its answers as first choice took no longer, in seconds; null where none was recorded.",
        name="median_response_s",
    )
    p95_response_seconds: float | None = column(
        "95 % of its answers as first choice took no longer, in seconds; null where none was recorded.",
        name="p95_response_s",
    )
    answer_cost: Usd = column("What its answers as first choice cost, as far as it was recorded.")


@strawberry.type(description="A required skill that an agent has.")
class HeldSkill:
    required: str = strawberry.field(description="The skill, as it was asked for.")
    held_as: str | None = strawberry.field(
        description="What the agent calls it: the same name, in whatever case, or one that means the same (a skill "
        f"match of {HELD} or more). Null where only answers show it that were rated well."
    )


@strawberry.type(description="An active agent that has some of the required skills.")
class Expert:
    agent: Agent = entity("The agent, as it is now.")
    coverage: float = strawberry.field(description="The share of the required skills that it has, above 0 to 1.")
    matched_skills: list[HeldSkill] = strawberry.field(description="Those that it has, in the order asked for.")
    missing_skills: list[str] = strawberry.field(description="Those that it does not have, in the order asked for.")
    available: bool = strawberry.field(description="Whether it took new tasks when this list was ordered.")
    active_tasks: int = strawberry.field(description="How many open tasks it had when this list was ordered.")
    load: float = strawberry.field(
        description="How busy it was when this list was ordered, from its conversations that go on, its open tasks and "
        "how long tasks take: 0 idle, towards 1 busy."
    )

    @classmethod
    def of(cls, found: FoundExpert) -> Expert:
        expert = found.expert
        return cls(
            agent=found.agent_id,  # type: ignore[arg-type]
            coverage=expert.coverage,
            matched_skills=[HeldSkill(required=one.required, held_as=one.held_as) for one in expert.holds],
            missing_skills=list(expert.missing),
            available=expert.available,
            active_tasks=found.active_tasks,
            load=round(expert.load, 4),
        )


@strawberry.type(description="An active agent that could answer a query.")
class Recommendation:
    agent: Agent = entity("The agent, as it is now.")
    confidence: float = strawberry.field(
        description="How much the query is about what the agent can do: its skill match, 0.35 to 1."
    )
    matching_skills: list[str] = strawberry.field(
        description="Its skills that match by themselves, best first; at most 3. Empty where only answers that were "
        "rated well, or its skills taken together, match."
    )
    tagline: str = strawberry.field(description="One line on what the agent is for; may be empty.")
    personality: str = strawberry.field(description=f"The first {EXCERPT} characters of how it speaks; may be empty.")

    @classmethod
    def of(cls, found: Recommended) -> Recommendation:
        return cls(
            agent=found.agent_id,  # type: ignore[arg-type]
            confidence=found.match.value,
            matching_skills=list(found.match.skills),
            tagline=found.tagline,
            personality=found.personality,
        )
