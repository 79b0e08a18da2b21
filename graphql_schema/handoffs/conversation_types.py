"""Handoffs of conversations, decisions after replies and context variables, as the graph shows them."""

from __future__ import annotations

import strawberry

from app.conversations.handoffs import models
from app.handoffs.decision import DecidedBy
from app.handoffs.variables import VariableSource
from app.ids import Prefix
from app.teams.models import AfterWork
from graphql_schema.conversations.reach import readable_within
from graphql_schema.handoffs import enums  # noqa: F401 - publishes them
from graphql_schema.node import Node
from graphql_schema.planner.connections import publish_connection
from graphql_schema.planner.mapping import column, mapped, one
from graphql_schema.scalars import JSON, DateTime

_AGENTS = "graphql_schema.agents.types"
_CONVERSATIONS = "graphql_schema.conversations.types"
_RULES = "graphql_schema.handoffs.types"


@mapped(models.ConversationHandoff.__table__, prefix=Prefix.HANDOFF, scope=readable_within)
@strawberry.type(description="One passing of a conversation from an agent to another, and how it came back.")
class ConversationHandoff(Node):
    number: int = column("The number of the message that announces it.", filter=True, order=True)
    reason: str = column("Why, up to 500 characters; of a rule, its condition.", filter=True)
    summary: str = column("What who took over was told, up to 4,000 characters; may be empty.")
    return_policy: models.ReturnPolicy = column("To whom it comes back.", filter=True, group=True)
    requested_by: str = column("The name of who handed it over.", filter=True, group=True)
    deadline: DateTime | None = column(
        "When it comes back at the latest; null with the policy NONE.", name="due_at", filter=True
    )
    outcome: models.HandoffOutcome | None = column("How it ended; null while it has not.", filter=True, group=True)
    outcome_reason: str | None = column("Why it ended so, up to 500 characters; null while it has not.")
    created_at: DateTime = column("When it was handed over.", filter=True, order=True)
    ended_at: DateTime | None = column("When it ended; null while it has not.", filter=True, order=True)
    conversation = one(
        "Conversation", _CONVERSATIONS, "Which conversation.",
        on=lambda handoff, conversation: conversation.id == handoff.conversation_id,
    )  # fmt: skip
    from_agent = one(
        "Agent", _AGENTS, "Who handed it over.", on=lambda handoff, agent: agent.id == handoff.from_agent_id
    )
    to_agent = one("Agent", _AGENTS, "Who took over.", on=lambda handoff, agent: agent.id == handoff.to_agent_id)
    returned_to = one(
        "Agent", _AGENTS, "Who got it back; null while nobody has.", nullable=True,
        on=lambda handoff, agent: agent.id == handoff.returned_to_id,
    )  # fmt: skip
    rule = one(
        "HandoffRule", _RULES, "The version of the rule that fired; null when it was asked for.", nullable=True,
        on=lambda handoff, rule: rule.id == handoff.rule_id,
    )  # fmt: skip
    message = one(
        "Message", _CONVERSATIONS, "The reply that made a rule fire; null when it was asked for.", nullable=True,
        on=lambda handoff, message: message.id == handoff.message_id,
    )  # fmt: skip


@mapped(models.StepDecision.__table__, prefix=Prefix.STEP_DECISION, scope=readable_within)
@strawberry.type(description="What was decided after a reply, and why.")
class StepDecision(Node):
    decided_by: DecidedBy = column("What settled it.", filter=True, group=True)
    reason: str = column("Why, up to 2,000 characters.", filter=True)
    after_work: AfterWork | None = column("What followed; null when somebody took over.", filter=True, group=True)
    judge: str = column("Who judged the plain language, with its version.")
    tried: JSON = column(
        "The rules in the order in which they were tried, at most 100: each an object with `ruleId`, `condition`, "
        "`holds`, `fired`, `reason` and its `clauses` with their `kind`, `holds`, `confidence` (0 to 1) and `reason`."
    )
    created_at: DateTime = column("When it was decided.", filter=True, order=True)
    message = one(
        "Message", _CONVERSATIONS, "The reply.", on=lambda decision, message: message.id == decision.message_id
    )
    to_agent = one(
        "Agent", _AGENTS, "Who took over; null: nobody.", nullable=True,
        on=lambda decision, agent: agent.id == decision.to_agent_id,
    )  # fmt: skip
    rule = one(
        "HandoffRule", _RULES, "The version of the rule that fired; null: none.", nullable=True,
        on=lambda decision, rule: rule.id == decision.rule_id,
    )  # fmt: skip


@mapped(models.ContextVariable.__table__, prefix=Prefix.CONTEXT_VARIABLE, scope=readable_within)
@strawberry.type(description="A value that a context variable took in a conversation. The newest of a name counts.")
class ContextVariable(Node):
    name: str = column("The variable's name.", filter=True, order=True, group=True)
    value: JSON = column("A number, a text of up to 2,000 characters, true or false.")
    source: VariableSource = column("Where it comes from: INPUT, RUNTIME or TEXT.", filter=True, group=True)
    set_by: str = column("The name of the agent or key that set it.", filter=True, group=True)
    created_at: DateTime = column("When it was set.", filter=True, order=True)
    message = one(
        "Message", _CONVERSATIONS, "The reply that set it; null for a caller's.", nullable=True,
        on=lambda variable, message: message.id == variable.message_id,
    )  # fmt: skip


publish_connection(ConversationHandoff, default_order="number")
publish_connection(StepDecision)
publish_connection(ContextVariable)
