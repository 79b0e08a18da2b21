"""Mutations of routing."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import strawberry

from app.auth.roles import Permission
from app.conversations.queries import require_message
from app.errors import InvalidInput
from app.ids import Prefix, from_global
from app.routing import decisions, feedback, policies
from app.routing.decisions import Draft
from app.routing.models import RoutingOutcome
from app.routing.select import Strategy
from app.routing.service import Message
from graphql_schema.context import Context
from graphql_schema.mutations import AtOnce, MutationInput, Payload, Work, mutation
from graphql_schema.planner.mapping import entity
from graphql_schema.refusals import AgentUnavailable, Conflict, NoAgentAvailable, NotFound
from graphql_schema.routing.rows import MS_IN_SECOND
from graphql_schema.routing.types import RoutingDecision, RoutingPolicy
from graphql_schema.scalars import Usd
from graphql_schema.tasks.acting import given


@strawberry.input(description="A message to be routed.")
class RouteMessageInput(MutationInput):
    text: str = strawberry.field(description="What the user wrote, 1 to 10,000 characters.")
    agent_id: strawberry.ID | None = strawberry.field(
        default=None, description="Who is to answer, whatever the scores; must be active. Null: routing decides."
    )
    current_agent_id: strawberry.ID | None = strawberry.field(
        default=None, description="Who has the conversation now; the router keeps it while its skills match."
    )
    conversation_id: strawberry.ID | None = strawberry.field(
        default=None, description="The conversation that it belongs to; kept with the decision. Null: none."
    )
    message_id: strawberry.ID | None = strawberry.field(
        default=None, description="The message of a conversation that is routed; kept with the decision. Null: none."
    )
    strategy: Strategy | None = strawberry.field(default=None, description="Instead of the policy's.")
    k: int | None = strawberry.field(default=None, description="Instead of the policy's, 1 to 20.")
    threshold: float | None = strawberry.field(default=None, description="Instead of the policy's, 0 to 1.")
    model_tier: int | None = strawberry.field(
        default=None, description="Instead of the one that the complexity suggests, 0 to 2."
    )


@strawberry.input(description="How good an answer was.")
class RateResponseInput(MutationInput):
    routing_decision_id: strawberry.ID = strawberry.field(description="The decision that led to the answer.")
    stars: int = strawberry.field(
        description="1 to 5. From 4 the message becomes an example of what the agent does well."
    )
    agent_id: strawberry.ID | None = strawberry.field(
        default=None, description="Whose answer, among the selected agents. Null: the one selected first."
    )
    comment: str = strawberry.field(default="", description="Why, up to 2,000 characters.")
    rater: str | None = strawberry.field(
        default=None,
        description="Who rates, 1 to 120 characters; the same rater's next rating of the answer replaces the last. "
        "Null: the key's name.",
    )


@strawberry.input(description="What became of a routed message. What is absent stays as it was.")
class RecordRoutingOutcomeInput(MutationInput):
    routing_decision_id: strawberry.ID = strawberry.field(description="Which decision.")
    outcome: RoutingOutcome = strawberry.field(description="What became of it.")
    actual_cost_usd: Usd | None = strawberry.field(default=None, description="What it cost, 0 to 1,000,000 US dollars.")
    response_seconds: float | None = strawberry.field(
        default=None, description="Seconds until the answer, 0 to 2,147,483; kept to the millisecond."
    )


@strawberry.input(description="How much each signal counts. What is absent stays as it was; all four must sum to 1.")
class RoutingWeightsInput:
    skill_match: float | None = strawberry.field(default=None, description="0 to 1, at most four decimals.")
    past_performance: float | None = strawberry.field(default=None, description="0 to 1, at most four decimals.")
    personality_fit: float | None = strawberry.field(default=None, description="0 to 1, at most four decimals.")
    load_balance: float | None = strawberry.field(default=None, description="0 to 1, at most four decimals.")


@strawberry.input(description="How the team chooses. What is absent stays as it was.")
class SetRoutingPolicyInput(MutationInput):
    weights: RoutingWeightsInput | None = strawberry.field(default=None, description="How much each signal counts.")
    threshold: float | None = strawberry.field(default=None, description="Score from which an agent is taken, 0 to 1.")
    skill_floor: float | None = strawberry.field(
        default=None, description="Skill match from which an agent is taken, 0 to 1, whatever its score."
    )
    strategy: Strategy | None = strawberry.field(default=None, description="How many of the scored agents answer.")
    k: int | None = strawberry.field(default=None, description="How many agents TOP_K takes, 1 to 20.")
    note: str = strawberry.field(default="", description="Why, up to 500 characters.")
    expected_version: int | None = strawberry.field(
        default=None, description="Refuse with Conflict unless this version counts now. Null: whichever does."
    )


@strawberry.type(description="What was decided.")
class RoutingDecisionPayload(Payload):
    routing_decision: RoutingDecision = entity("The decision, as it is now.")


@strawberry.type(description="The policy that counts.")
class RoutingPolicyPayload(Payload):
    policy: RoutingPolicy = entity("The version that counts now.")


async def _decide(context: Context, input: RouteMessageInput) -> Draft:
    message = Message(
        text=input.text,
        agent_id=_optional(Prefix.AGENT, input.agent_id, "agentId"),
        current_agent_id=_optional(Prefix.AGENT, input.current_agent_id, "currentAgentId"),
        conversation_id=_optional(Prefix.CONVERSATION, input.conversation_id, "conversationId"),
        message_id=_optional(Prefix.MESSAGE, input.message_id, "messageId"),
        strategy=input.strategy,
        k=input.k,
        threshold=input.threshold,
        model_tier=input.model_tier,
    )
    team_id, services = context.principal.team_id, context.services
    await require_message(
        services.database,
        team_id=team_id,
        conversation_id=message.conversation_id,
        message_id=message.message_id,
    )
    return await services.routing.decide(team_id, message)


@mutation(
    "Decides who answers a message, and keeps the decision with all that it depended on. It runs no agent. With "
    "agent_collaboration off, the named or the default agent; else the first active agent that is @mentioned; else, "
    "with expert_gate off, the current agent or the one whose skills match best, and with it on the agents with the "
    "best scores. Where nobody matches, the default agent, with a warning.",
    needs=Permission.ROUTE_MESSAGES,
    refusals=(NotFound, AgentUnavailable, NoAgentAvailable),
    prepare=_decide,
)
async def route_message(work: AtOnce, input: RouteMessageInput) -> RoutingDecisionPayload:
    work.write = decisions.write(work.prepared, actor=work.actor)
    return RoutingDecisionPayload(routing_decision=work.prepared.id)


@mutation(
    "Rates the answer of a selected agent. Ratings of similar messages raise or lower an agent's past performance.",
    needs=Permission.RATE_RESPONSES,
    refusals=(NotFound, Conflict),
)
async def rate_response(work: Work, input: RateResponseInput) -> RoutingDecisionPayload:
    rated = await feedback.rate(
        work.session,
        team_id=work.team_id,
        decision_id=from_global(Prefix.ROUTING_DECISION, input.routing_decision_id, path="routingDecisionId"),
        agent_id=_optional(Prefix.AGENT, input.agent_id, "agentId"),
        stars=input.stars,
        comment=input.comment,
        rater=input.rater,
        actor=work.actor,
    )
    return RoutingDecisionPayload(routing_decision=rated.id)  # type: ignore[arg-type]


def _response_ms(seconds: float | None) -> int | None:
    if seconds is None:
        return None
    most = feedback.MOST_RESPONSE_MS // MS_IN_SECOND
    if not 0 <= seconds <= most:
        raise InvalidInput.of("responseSeconds", f"must be 0 to {most:,}")
    return round(seconds * MS_IN_SECOND)


@mutation(
    "Tells what became of a routed message: its outcome, what it cost and how long it took.",
    needs=Permission.ROUTE_MESSAGES,
    refusals=(NotFound,),
)
async def record_routing_outcome(work: Work, input: RecordRoutingOutcomeInput) -> RoutingDecisionPayload:
    decision = await feedback.record_outcome(
        work.session,
        team_id=work.team_id,
        decision_id=from_global(Prefix.ROUTING_DECISION, input.routing_decision_id, path="routingDecisionId"),
        outcome=input.outcome,
        actual_cost=input.actual_cost_usd,
        response_ms=_response_ms(input.response_seconds),
        actor=work.actor,
    )
    return RoutingDecisionPayload(routing_decision=decision.id)  # type: ignore[arg-type]


@mutation(
    "Changes how the team chooses, as a new version of its routing policy; decisions keep the version that they were "
    "made under. What changes nothing makes no version.",
    needs=Permission.CONFIGURE_TEAM,
    refusals=(Conflict,),
)
async def set_routing_policy(work: Work, input: SetRoutingPolicyInput) -> RoutingPolicyPayload:
    policy = await policies.change(
        work.session,
        team_id=work.team_id,
        weights={} if input.weights is None else _weights(input.weights),
        settings=given(input, "threshold", "skill_floor", "strategy", "k"),
        note=input.note,
        expected_version=input.expected_version,
        actor=work.actor,
    )
    return RoutingPolicyPayload(policy=policy.id)  # type: ignore[arg-type]


def _weights(asked: RoutingWeightsInput) -> dict[str, Any]:
    return given(asked, *policies.WEIGHTS)


def _optional(prefix: Prefix, text: str | None, path: str) -> UUID | None:
    return None if text is None else from_global(prefix, text, path=path)
