"""Mutations that hand conversations over and back, and set their variables."""

from __future__ import annotations

from uuid import UUID

import strawberry

from app.auth.roles import Permission
from app.conversations.handoffs import service, values
from app.conversations.handoffs.models import MAX_SUMMARY, ReturnPolicy
from app.conversations.handoffs.service import Request
from app.conversations.handoffs.to_group import taker_of
from app.discovery.queries import skill_matches_of
from app.errors import InvalidInput
from app.ids import Prefix, from_global
from app.routing.models import MAX_QUERY
from graphql_schema.context import Context
from graphql_schema.conversations.mutation import ConversationPayload
from graphql_schema.handoffs.conversation_types import ConversationHandoff
from graphql_schema.mutations import MutationInput, Payload, Work, mutation
from graphql_schema.planner.mapping import entity
from graphql_schema.refusals import AgentUnavailable, Conflict, CycleDetected, NotFound, OscillationDetected
from graphql_schema.scalars import JSON


@strawberry.input(description="A conversation and who is to take it over.")
class HandoffConversationInput(MutationInput):
    conversation_id: strawberry.ID = strawberry.field(description="Which conversation.")
    reason: str = strawberry.field(description="Why, 1 to 500 characters.")
    to_agent_id: strawberry.ID | None = strawberry.field(
        default=None, description="Who takes over; must be active. Either this or toGroupId is needed."
    )
    to_group_id: strawberry.ID | None = strawberry.field(
        default=None,
        description="The group that takes over: its coordinator, or where it has none that is free, the member whose "
        "skills match reason and summary best. The summary then ends with who was picked and why.",
    )
    summary: str = strawberry.field(
        default="", description="What who takes over should know beyond the history, up to 4,000 characters."
    )
    return_policy: ReturnPolicy = strawberry.field(
        default=ReturnPolicy.CALLER, description="To whom it comes back, however it ends."
    )
    timeout_seconds: int = strawberry.field(
        default=3_600, description="When it comes back at the latest, 1 to 86,400 seconds. Without effect for NONE."
    )
    reply: bool = strawberry.field(default=True, description="Whether who takes over says something at once.")


@strawberry.input(description="A conversation that is to come back.")
class ReturnConversationInput(MutationInput):
    conversation_id: strawberry.ID = strawberry.field(description="Which conversation.")
    result: str = strawberry.field(default="", description="What came of it, up to 4,000 characters.")
    to_agent_id: strawberry.ID | None = strawberry.field(
        default=None,
        description="An agent further back that had it before, which then gets it whatever the return policy. Null: by "
        "the policy of the last handoff.",
    )


@strawberry.input(description="Values of a conversation's variables.")
class SetContextVariablesInput(MutationInput):
    conversation_id: strawberry.ID = strawberry.field(description="Which conversation.")
    variables: JSON = strawberry.field(
        description="Values by name, as an object, for names in the team's `inputVariables`; others stay. At most 200."
    )


@strawberry.type(description="The handoff after the change.")
class HandoffPayload(Payload):
    handoff: ConversationHandoff = entity("The handoff, as it is now.")


async def _matches(context: Context, input: HandoffConversationInput) -> dict[str, float] | None:
    """How well each agent's skills match a handoff to a group; reckoned before the transaction."""
    if (input.to_agent_id is None) == (input.to_group_id is None):
        raise InvalidInput.of("toAgentId", "or toGroupId is needed, and only one of them")
    if input.to_group_id is None:
        return None
    services = context.services
    text = f"{input.reason}\n{input.summary}"[:MAX_QUERY]
    return await skill_matches_of(services.team_indexes, services.embedder, context.principal.team_id, text)


async def _taker(work: Work, input: HandoffConversationInput, conversation_id: UUID) -> tuple[UUID, str]:
    """Who takes over, and the summary."""
    if input.to_agent_id is not None:
        return from_global(Prefix.AGENT, input.to_agent_id, path="toAgentId"), input.summary
    picked = await taker_of(
        work.session,
        team_id=work.team_id,
        conversation_id=conversation_id,
        group_id=from_global(Prefix.GROUP, input.to_group_id or "", path="toGroupId"),
        text=f"{input.reason}\n{input.summary}",
        matches=work.prepared,
    )
    return picked.agent_id, "\n\n".join(filter(None, (input.summary, picked.why)))[:MAX_SUMMARY]


@mutation(
    "Hands a conversation over: the agent gets the primary role and, unless told otherwise, replies at once. It is a "
    "call with a return: when the agent returns it, fails, is paused or archived, or the time is over, the "
    "conversation comes back by the return policy, and `outcome` tells how. An agent's key can do this while its agent "
    "has the conversation.",
    needs=Permission.SEND_MESSAGES,
    refusals=(NotFound, Conflict, AgentUnavailable, CycleDetected, OscillationDetected),
    prepare=_matches,
)
async def handoff_conversation(work: Work, input: HandoffConversationInput) -> HandoffPayload:
    conversation_id = from_global(Prefix.CONVERSATION, input.conversation_id, path="conversationId")
    to_agent_id, summary = await _taker(work, input, conversation_id)
    wanted = Request(
        conversation_id=conversation_id,
        to_agent_id=to_agent_id,
        reason=input.reason,
        summary=summary,
        policy=input.return_policy,
        timeout_s=input.timeout_seconds,
        replies=input.reply,
    )
    made = await service.request(
        work.session,
        team_id=work.team_id,
        wanted=wanted,
        settings=work.context.services.settings,
        actor=work.actor,
        acting_as=work.principal.agent_id,
    )
    return HandoffPayload(handoff=made.id)  # type: ignore[arg-type]


@mutation(
    "Returns a conversation to the agent that handed it over last, or to one further back; handoffs in between end "
    "with it. An agent's key can do this while its agent has the conversation.",
    needs=Permission.SEND_MESSAGES,
    refusals=(NotFound, Conflict),
)
async def return_conversation(work: Work, input: ReturnConversationInput) -> HandoffPayload:
    ended = await service.give_back(
        work.session,
        team_id=work.team_id,
        conversation_id=from_global(Prefix.CONVERSATION, input.conversation_id, path="conversationId"),
        result=input.result,
        to_agent_id=None
        if input.to_agent_id is None
        else from_global(Prefix.AGENT, input.to_agent_id, path="toAgentId"),
        actor=work.actor,
        acting_as=work.principal.agent_id,
    )
    return HandoffPayload(handoff=ended.id)  # type: ignore[arg-type]


@mutation(
    "Sets input variables of a conversation, for handoff rules to compare with. What is set to the value that it has "
    "changes nothing.",
    needs=Permission.MANAGE_CONVERSATIONS,
    refusals=(NotFound, Conflict),
)
async def set_context_variables(work: Work, input: SetContextVariablesInput) -> ConversationPayload:
    changed = await values.set_by_caller(
        work.session,
        team_id=work.team_id,
        conversation_id=from_global(Prefix.CONVERSATION, input.conversation_id, path="conversationId"),
        variables=input.variables,
        actor=work.actor,
    )
    return ConversationPayload(conversation=changed.id)  # type: ignore[arg-type]
