"""Routing decisions, their candidates and the policies that they were made under, as the graph shows them."""

from __future__ import annotations

from typing import Annotated, Any
from uuid import UUID

import strawberry
from sqlalchemy import any_, func

from app.ids import Prefix, from_global
from app.routing import models
from app.routing.explain import Decided, explain
from app.routing.queries import why_not_agent
from app.routing.router import Reason
from app.routing.score import Candidate, Score, Signals, Weights, explanation
from app.routing.select import MOST_AGENTS, Strategy
from app.routing.why_not import SignalGap
from graphql_schema.context import Info
from graphql_schema.conversations.reach import readable_decision
from graphql_schema.node import Node
from graphql_schema.planner.connections import many, publish_connection
from graphql_schema.planner.mapping import column, embedded, listing, mapped, one, python
from graphql_schema.routing.enums import RoutingSignal
from graphql_schema.routing.rows import CANDIDATES, DECISIONS, POLICIES
from graphql_schema.scalars import DateTime, Usd

_AGENTS = "graphql_schema.agents.types"
_CONVERSATIONS = "graphql_schema.conversations.types"
_HERE = "graphql_schema.routing.types"
_SIGNALS = ("skill_match", "past_performance", "personality_fit", "load_balance")


@mapped()
@strawberry.type(description="How much each signal counts in a score; the four sum to 1.")
class RoutingWeights:
    skill_match: float = column("Share of the skill match, 0 to 1.", name="skill_match_weight", filter=True)
    past_performance: float = column(
        "Share of the past performance, 0 to 1.", name="past_performance_weight", filter=True
    )
    personality_fit: float = column("Share of the personality fit, 0 to 1.", name="personality_fit_weight", filter=True)
    load_balance: float = column("Share of the load balance, 0 to 1.", name="load_balance_weight", filter=True)


@mapped(POLICIES, prefix=Prefix.ROUTING_POLICY)
@strawberry.type(description="One version of how the team chooses among its agents. It never changes.")
class RoutingPolicy(Node):
    version: int = column("Counts the team's versions, from 1; the highest counts.", filter=True, order=True)
    weights: RoutingWeights = embedded("How much each signal counts.")
    threshold: float = column("Score from which an agent is taken, 0 to 1.", filter=True)
    skill_floor: float = column("Skill match from which an agent is taken, 0 to 1, whatever its score.", filter=True)
    strategy: Strategy = column("How many of the scored agents answer.", filter=True, group=True)
    k: int = column("How many agents TOP_K takes, 1 to 20.", filter=True)
    note: str = column("Why it was made, up to 500 characters; may be empty.", filter=True)
    created_by: str = column("The name of the key that made it, or `parley` for the defaults.", filter=True, group=True)
    created_at: DateTime = column("When it was made.", filter=True, order=True)
    decisions = many(
        "RoutingDecision", _HERE, "What was decided under it.",
        on=lambda policy, decision: decision.policy_id == policy.id,
    )  # fmt: skip


@mapped(CANDIDATES)
@strawberry.type(description="An agent that was scored for a decision.")
class RoutingCandidate:
    place: int = column("Its rank among the candidates, from 1, the best.", filter=True, order=True)
    selected: bool = column("Whether it was selected to answer.", filter=True, group=True, aggregate=True)
    overall: float = column("The weighted sum of its four signals, 0 to 1.", filter=True, order=True, aggregate=True)
    skill_match: float = column("How well its skills match, 0 to 1.", filter=True, order=True, aggregate=True)
    past_performance: float = column(
        "Mean rating of its answers to similar messages of the last 30 days, 0 to 1; 0.7 without any.",
        filter=True, order=True, aggregate=True,
    )  # fmt: skip
    personality_fit: float = column(
        "How well its traits fit the message's manner, 0 to 1.", filter=True, order=True, aggregate=True
    )
    load_balance: float = column("How free it was, 0 to 1; 1 is idle.", filter=True, order=True, aggregate=True)
    matching_skills: list[str] = column("The skills that match by themselves, best first; at most 3.")
    agent_id: strawberry.ID = column("Which agent.", prefix=Prefix.AGENT, filter=True, group=True)
    agent_version: int = column("The agent's version at that time.", filter=True)
    agent = one("Agent", _AGENTS, "Which agent.", on=lambda candidate, agent: agent.id == candidate.agent_id)

    @python("Its score in words.", requires=(*_SIGNALS, "overall", "matching_skills", "agent_name", "weights"))
    def explanation(self: Any, info: Info) -> str:
        signals = Signals(*(self[f"${name}"] for name in _SIGNALS))
        candidate = Candidate("", self["$agent_name"], signals, tuple(self["$matching_skills"]))
        return explanation(Score(candidate, self["$overall"]), Weights(*self["$weights"]))


@strawberry.type(description="One signal of an agent beside that of the agent that was selected first.")
class RoutingSignalGap:
    signal: RoutingSignal = strawberry.field(description="Which signal.")
    value: float = strawberry.field(description="The agent's own, 0 to 1.")
    chosen: float | None = strawberry.field(
        description="That of the agent selected first, 0 to 1; null when that one was not scored."
    )
    weight: float = strawberry.field(description="How much the signal counted, 0 to 1.")
    lost: float | None = strawberry.field(
        description="What it cost of the score; negative: what it won. Null where `chosen` is."
    )

    @classmethod
    def of(cls, gap: SignalGap) -> RoutingSignalGap:
        return cls(signal=RoutingSignal(gap.name), value=gap.value, chosen=gap.chosen, weight=gap.weight, lost=gap.lost)


@strawberry.type(description="Why an agent was not selected, in words and numbers.")
class WhyNot:
    selected: bool = strawberry.field(description="True when it was selected after all.")
    place: int | None = strawberry.field(description="Its rank, from 1; null when it was no candidate.")
    overall: float | None = strawberry.field(description="Its score, 0 to 1; null when it was no candidate.")
    behind: float | None = strawberry.field(
        description="How much its score lacks to that of the agent selected first; negative when it is higher. "
        "Null when one of the two was not scored."
    )
    costliest_signal: RoutingSignal | None = strawberry.field(
        description="The signal that cost it the place. Null when none did: it was selected, another agent was "
        "addressed or kept, or the scores were equal."
    )
    signals: list[RoutingSignalGap] = strawberry.field(description="All four; none when it was no candidate.")
    explanation: str = strawberry.field(description="The same in words.")


_EXPLAINED = (
    "mode", "reason", "strategy", "asked_strategy", "selected_names", "confidence", "threshold", "skill_floor",
    "fallback_used", "warning", "selected_tier", "selected_model", "tier_override_reason", "selected_agent_id",
    "current_agent_id", "left_out_names",
)  # fmt: skip


@mapped()
@strawberry.type(description="How much a message asks for: five dimensions of its text, and what they come to.")
class RoutingComplexity:
    overall: float = column(
        "How much it asks for in all, 0 to 10.", name="complexity", filter=True, order=True, aggregate=True
    )
    length: float = column(
        "How long it is, 0 to 10.", name="complexity_length", filter=True, order=True, aggregate=True
    )
    steps: float = column(
        "How many steps it asks for, 0 to 10.", name="complexity_steps", filter=True, order=True, aggregate=True
    )
    technical_depth: float = column(
        "How technical it is, 0 to 10.", name="complexity_technical_depth", filter=True, order=True, aggregate=True
    )
    reasoning: float = column(
        "How much reasoning it asks for, 0 to 10.", name="complexity_reasoning", filter=True, order=True, aggregate=True
    )
    constraints: float = column(
        "How many constraints it sets, 0 to 10.", name="complexity_constraints", filter=True, order=True, aggregate=True
    )


@mapped(DECISIONS, prefix=Prefix.ROUTING_DECISION, scope=readable_decision)
@strawberry.type(description="Who was selected to answer a message, why, and what came of it.")
class RoutingDecision(Node):
    query: str = column("The message, up to 10,000 characters.", filter=True, order=True)
    mode: models.RoutingMode = column("Which part of routing decided.", filter=True, order=True, group=True)
    reason: Reason = column("Why the first agent was selected.", filter=True, order=True, group=True)
    strategy: Strategy = column("How agents were selected.", filter=True, order=True, group=True)
    asked_strategy: Strategy = column(
        "What the caller or the policy asked for; another than `strategy` when ensemble_mode is off, one agent was "
        "addressed, or the mode is not GATE: all of them take one agent.", filter=True, order=True, group=True,
    )  # fmt: skip
    ensemble_allowed: bool = column("Whether ensemble_mode was on.", filter=True, order=True, group=True)
    threshold: float = column("Score from which an agent was taken, 0 to 1.", filter=True, order=True)
    skill_floor: float = column("Skill match from which an agent was taken, 0 to 1.", filter=True, order=True)
    k: int = column("How many agents TOP_K would take, 1 to 20.", filter=True, order=True, group=True)
    confidence: float = column(
        "Score of the agent selected first, 0 to 1: its overall score, under the router its skill match; 1 when it was "
        "addressed, 0 when nobody was selected.", filter=True, order=True, aggregate=True,
    )  # fmt: skip
    fallback_used: bool = column(
        "Whether no agent matched: the default agent answers, the current one where that is left out, or nobody.",
        filter=True, order=True, group=True, aggregate=True,
    )  # fmt: skip
    warning: str | None = column("What the user should be told; null: nothing.", filter=True, order=True)
    complexity: RoutingComplexity = embedded("How much the message asks for, in all and by what.")
    suggested_tier: int = column(
        "Tier of model that the complexity suggests, 0 to 2.", filter=True, order=True, group=True
    )
    tier: int = column(
        "Tier of model that was chosen, 0 to 2.",
        name="selected_tier",
        filter=True,
        order=True,
        group=True,
        aggregate=True,
    )
    model: str = column("The model of that tier.", name="selected_model", filter=True, order=True, group=True)
    tier_override_reason: str | None = column(
        "Why it is another tier than suggested; null: it is not.", filter=True, order=True
    )
    estimated_cost: Usd = column("What the answer was estimated to cost.", filter=True, order=True, aggregate=True)
    actual_cost: Usd | None = column("What it cost; null until told.", filter=True, order=True, aggregate=True)
    gate_latency_ms: float | None = column(
        "Milliseconds that the ExpertGate took; null when it was not asked.", filter=True, order=True, aggregate=True
    )
    router_latency_ms: float = column(
        "Milliseconds from the call to the decision, embedding included.", filter=True, order=True, aggregate=True
    )
    response_seconds: float | None = column(
        "Seconds until the answer; null until told.", name="response_ms", filter=True, order=True, aggregate=True
    )
    outcome: models.RoutingOutcome | None = column(
        "What became of it; null until told.", filter=True, order=True, group=True
    )
    rating: float | None = column(
        "Mean rating of its answers, 0 (one star) to 1 (five); null while nobody has rated.",
        filter=True, order=True, aggregate=True,
    )  # fmt: skip
    embedder: str = column("What made the message's vector.", filter=True, order=True, group=True)
    created_at: DateTime = column("When it was decided.", filter=True, order=True, group=True, aggregate=True)
    conversation_id: strawberry.ID | None = column(
        "The conversation; null: the caller named none.",
        prefix=Prefix.CONVERSATION,
        filter=True,
        order=True,
        group=True,
    )
    message_id: strawberry.ID | None = column(
        "The message; null: the caller named none.", prefix=Prefix.MESSAGE, filter=True, order=True
    )
    selected_agent_id: strawberry.ID | None = column(
        "The agent selected first; null when nobody could answer.",
        prefix=Prefix.AGENT,
        filter=True,
        order=True,
        group=True,
    )
    current_agent_id: strawberry.ID | None = column(
        "The agent that had the conversation; null when none was named.",
        prefix=Prefix.AGENT,
        filter=True,
        order=True,
        group=True,
    )
    default_agent_id: strawberry.ID | None = column(
        "The team's default agent at that time; null when it was not active.",
        prefix=Prefix.AGENT, filter=True, order=True, group=True,
    )  # fmt: skip
    policy_id: strawberry.ID = column(
        "The policy's version that counted.", prefix=Prefix.ROUTING_POLICY, filter=True, order=True, group=True
    )
    policy = one(
        "RoutingPolicy", _HERE, "The policy's version that counted: its weights; threshold, strategy and k are "
        "the decision's own.", on=lambda decision, policy: policy.id == decision.policy_id,
    )  # fmt: skip
    selected_agent = one(
        "Agent", _AGENTS, "The agent selected first; null when nobody could answer.", nullable=True,
        on=lambda decision, agent: agent.id == decision.selected_agent_id,
    )  # fmt: skip
    selected_agents = listing(
        "Agent", _AGENTS, "All agents selected, best first; at most 20.", most=MOST_AGENTS,
        on=lambda decision, agent: agent.id == any_(decision.selected_agent_ids),
        order=lambda decision, agent: func.array_position(decision.selected_agent_ids, agent.id),
    )  # fmt: skip
    current_agent = one(
        "Agent", _AGENTS, "The agent that had the conversation; null when none was named.", nullable=True,
        on=lambda decision, agent: agent.id == decision.current_agent_id,
    )  # fmt: skip
    default_agent = one(
        "Agent", _AGENTS, "The team's default agent at that time; null when it was not active.", nullable=True,
        on=lambda decision, agent: agent.id == decision.default_agent_id,
    )  # fmt: skip
    conversation = one(
        "Conversation", _CONVERSATIONS, "The conversation; null: the caller named none, or none that Parley has.",
        nullable=True, on=lambda decision, conversation: conversation.id == decision.conversation_id,
    )  # fmt: skip
    message = one(
        "Message", _CONVERSATIONS, "The message; null: the caller named none, or none that Parley has.",
        nullable=True, on=lambda decision, message: message.id == decision.message_id,
    )  # fmt: skip
    candidates = many(
        "RoutingCandidate", _HERE, "The agents that were scored, best first; none in mode DIRECT.", filter=True,
        on=lambda decision, candidate: candidate.decision_id == decision.id,
    )  # fmt: skip

    ratings = many(
        "RoutingRating", _HERE, "How its answers were rated, and by whom; who chose another agent counts, too.",
        filter=True, on=lambda decision, rating: rating.decision_id == decision.id,
    )  # fmt: skip
    overrides = many(
        "RoutingOverride", _HERE, "People who chose another agent, the first one first; the last one counts.",
        on=lambda decision, override: override.decision_id == decision.id,
    )  # fmt: skip

    @python("The whole decision in words.", requires=_EXPLAINED)
    def explanation(self: Any, info: Info) -> str:
        return explain(
            Decided(
                mode=models.RoutingMode(self["$mode"]),
                reason=Reason(self["$reason"]),
                strategy=Strategy(self["$strategy"]),
                asked_strategy=Strategy(self["$asked_strategy"]),
                selected=tuple(self["$selected_names"] or ()),
                confidence=self["$confidence"],
                threshold=self["$threshold"],
                skill_floor=self["$skill_floor"],
                fallback_used=self["$fallback_used"],
                warning=self["$warning"],
                tier=self["$selected_tier"],
                model=self["$selected_model"],
                tier_override_reason=self["$tier_override_reason"],
                kept_current=self["$selected_agent_id"] is not None
                and self["$selected_agent_id"] == self["$current_agent_id"],
                left_out=tuple(self["$left_out_names"] or ()),
            )
        )

    @python(
        "Why this agent was not selected; also for one that was not active. Null, with an error, when the team has no "
        "such agent.",
        requires=("id",), cost=5,
    )  # fmt: skip
    async def why_not(
        self: Any,
        info: Info,
        agent_id: Annotated[strawberry.ID, strawberry.argument(description="The agent's id, `agent_0190…`.")],
    ) -> WhyNot | None:
        asked = from_global(Prefix.AGENT, agent_id, path="agentId")
        services, team_id = info.context.services, info.context.principal.team_id
        found = await why_not_agent(services.database, team_id, UUID(self["$id"]), asked)
        return WhyNot(
            selected=found.selected,
            place=found.place,
            overall=found.overall,
            behind=found.behind,
            costliest_signal=RoutingSignal(found.costliest) if found.costliest else None,
            signals=[RoutingSignalGap.of(gap) for gap in found.gaps],
            explanation=found.explanation,
        )


@mapped(models.RoutingRating.__table__)
@strawberry.type(description="How somebody rated an agent's answer to a routed message.")
class RoutingRating:
    stars: int = column("1 to 5.", filter=True, order=True, group=True, aggregate=True)
    comment: str = column("Why, up to 2,000 characters; may be empty.", filter=True)
    rated_by: str = column(
        "Who rated: the rater that was given, else the key's name.", filter=True, order=True, group=True
    )
    created_at: DateTime = column("When; a rater's next rating of the answer replaces the last.",
        filter=True, order=True, group=True, aggregate=True,
    )  # fmt: skip
    agent_id: strawberry.ID = column("Whose answer.", prefix=Prefix.AGENT, filter=True, group=True)
    agent = one("Agent", _AGENTS, "Whose answer.", on=lambda rating, agent: agent.id == rating.agent_id)


@mapped(models.RoutingOverride.__table__)
@strawberry.type(description="A person's choice of another agent than routing selected.")
class RoutingOverride:
    agent_id: strawberry.ID = column("Who answers instead.", prefix=Prefix.AGENT, filter=True, group=True)
    reason: str = column("Why, 1 to 400 characters.", filter=True)
    overridden_by: str = column("Who decided so.", filter=True, group=True)
    created_at: DateTime = column("When.", filter=True, order=True, group=True, aggregate=True)
    agent = one("Agent", _AGENTS, "Who answers instead.", on=lambda override, agent: agent.id == override.agent_id)


publish_connection(RoutingPolicy)
publish_connection(RoutingOverride)
publish_connection(RoutingRating)
publish_connection(RoutingCandidate, default_order="place")
publish_connection(RoutingDecision, words={"query_words": "The words of the message."})
