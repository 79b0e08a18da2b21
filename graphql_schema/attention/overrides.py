"""Mutations with which people decide otherwise than Parley did."""

from __future__ import annotations

from typing import Any

import strawberry

from app.attention.models import MAX_PERSON
from app.auth.roles import Permission
from app.ids import Prefix, from_global
from app.interventions import overrides
from app.interventions.overrides import MAX_REASON
from graphql_schema.attention.mutation import person
from graphql_schema.handoffs.conversation_mutation import HandoffPayload
from graphql_schema.mutations import MutationInput, Work, mutation
from graphql_schema.refusals import AgentUnavailable, Conflict, NotFound
from graphql_schema.routing.mutation import RoutingDecisionPayload

_REASON_TEXT = f"Why, 1 to {MAX_REASON} characters. The event says it, and routing learns from it."
_PERSON_TEXT = f"Who decides, 1 to {MAX_PERSON} characters. Left out: the key's name."


@strawberry.input(description="A routing decision and who is to answer instead.")
class OverrideRoutingInput(MutationInput):
    routing_decision_id: strawberry.ID = strawberry.field(description="Which decision, `decision_0190…`.")
    agent_id: strawberry.ID = strawberry.field(description="Who answers instead; must be active.")
    reason: str = strawberry.field(description=_REASON_TEXT)
    person: str | None = strawberry.field(default=None, description=_PERSON_TEXT)


@strawberry.input(description="A handoff and who is to take over instead.")
class RedirectHandoffInput(MutationInput):
    handoff_id: strawberry.ID = strawberry.field(description="Which handoff, `handoff_0190…`; one that has not ended.")
    to_agent_id: strawberry.ID = strawberry.field(description="Who takes over instead; must be active.")
    reason: str = strawberry.field(description=_REASON_TEXT)
    person: str | None = strawberry.field(default=None, description=_PERSON_TEXT)


@mutation(
    "Lets another agent answer than routing selected. In an open conversation it answers at once: what the selected "
    "agents still work on is stopped, and the conversation is handed over. Counts as a rating of 2 stars for those "
    "replaced and of 4 for the one chosen, so that similar messages are routed better.",
    needs=Permission.ANSWER_ATTENTION,
    refusals=(NotFound, Conflict, AgentUnavailable),
)
async def override_routing(work: Work, input: OverrideRoutingInput) -> RoutingDecisionPayload:
    decision = await overrides.override_routing(
        work.session,
        decision_id=from_global(Prefix.ROUTING_DECISION, input.routing_decision_id, path="routingDecisionId"),
        agent_id=from_global(Prefix.AGENT, input.agent_id, path="agentId"),
        reason=input.reason,
        **_by(work, input.person),
    )
    return RoutingDecisionPayload(routing_decision=decision.id)  # type: ignore[arg-type]


@mutation(
    "Ends a handoff and hands the conversation over to another agent instead, under the same return policy and for "
    "the time that is left. Answers the new handoff; the ended one says why. Counts for routing as overrideRouting.",
    needs=Permission.ANSWER_ATTENTION,
    refusals=(NotFound, Conflict, AgentUnavailable),
)
async def redirect_handoff(work: Work, input: RedirectHandoffInput) -> HandoffPayload:
    made = await overrides.redirect_handoff(
        work.session,
        handoff_id=from_global(Prefix.HANDOFF, input.handoff_id, path="handoffId"),
        agent_id=from_global(Prefix.AGENT, input.to_agent_id, path="toAgentId"),
        reason=input.reason,
        **_by(work, input.person),
    )
    return HandoffPayload(handoff=made.id)  # type: ignore[arg-type]


def _by(work: Work, name: str | None) -> dict[str, Any]:
    return {"team_id": work.team_id, "settings": work.context.services.settings, "actor": person(work, name)}
