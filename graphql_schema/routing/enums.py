"""Enums of routing in the schema."""

from __future__ import annotations

from enum import StrEnum

from app.routing.models import RoutingMode, RoutingOutcome
from app.routing.router import Reason
from app.routing.select import Strategy
from graphql_schema.publish_enum import publish_enum


class RoutingSignal(StrEnum):
    SKILL_MATCH = "skill_match"
    PAST_PERFORMANCE = "past_performance"
    PERSONALITY_FIT = "personality_fit"
    LOAD_BALANCE = "load_balance"


publish_enum(
    RoutingMode,
    "Which part of routing decided.",
    {
        RoutingMode.DIRECT: "None: agent_collaboration is off, and the named or the default agent answers.",
        RoutingMode.ROUTER: "The AgentRouter: one agent by a fixed order of reasons.",
        RoutingMode.GATE: "The ExpertGate: every active agent scored on four signals.",
    },
)
publish_enum(
    Reason,
    "Why an agent was selected.",
    {
        Reason.USER_MENTION: "The message mentions it, or the caller named it.",
        Reason.SKILL_MATCH: "Its skills match the message.",
        Reason.HANDOFF: "Its skills match better than those of the current agent.",
        Reason.DEFAULT: "It is the team's default agent, or the current one where that is left out; nobody matched.",
    },
    name="RoutingReason",
)
publish_enum(
    Strategy,
    "How many of the scored agents answer. Only those at or above threshold and skill floor are taken.",
    {
        Strategy.TOP_1: "The best one.",
        Strategy.TOP_K: "The best k, side by side; the best reply wins.",
        Strategy.ENSEMBLE: "All, at most 20, side by side; their replies are put together.",
        Strategy.CASCADE: "All, at most 20, one after the other until one succeeds.",
    },
    name="RoutingStrategy",
)
publish_enum(
    RoutingOutcome,
    "What became of a routed message.",
    {
        RoutingOutcome.ANSWERED: "It was answered.",
        RoutingOutcome.FAILED: "No answer came about: nobody could, or it was cancelled.",
        RoutingOutcome.REDIRECTED: "The selected agent passed it on.",
    },
)
publish_enum(
    RoutingSignal,
    "What an agent is scored on, each 0 to 1.",
    {
        RoutingSignal.SKILL_MATCH: "How well its skills match the message.",
        RoutingSignal.PAST_PERFORMANCE: "How its answers to similar messages were rated in the last 30 days.",
        RoutingSignal.PERSONALITY_FIT: "How well its traits fit the manner of the message.",
        RoutingSignal.LOAD_BALANCE: "How free it is: 1 is idle.",
    },
)
