"""Enums of handoffs in the schema."""

from __future__ import annotations

from app.conversations.handoffs.models import HandoffOutcome, ReturnPolicy
from app.handoffs.condition.evaluation import ClauseKind
from app.handoffs.decision import DecidedBy
from app.handoffs.models import TargetKind
from app.handoffs.variables import VariableSource
from graphql_schema.publish_enum import publish_enum

publish_enum(
    TargetKind,
    "Whom a handoff rule hands over to.",
    {
        TargetKind.AGENT: "The agent that the rule names.",
        TargetKind.GROUP: "Whoever of the group that the rule names takes it up: its coordinator, or where it has none "
        "that is free, the member whose skills match the reply best.",
        TargetKind.PREVIOUS_AGENT: "Whoever had the conversation before the agent that has it now.",
    },
    name="HandoffTarget",
)
publish_enum(
    ClauseKind,
    "What sort of clause it is.",
    {
        ClauseKind.COMPARISON: "Two values are compared; computed.",
        ClauseKind.FLAG: "A variable that is true or false; read.",
        ClauseKind.COMPLETION: "Something is complete, by this reply or an earlier one.",
        ClauseKind.PLAIN: "Plain language about the reply; judged.",
        ClauseKind.CONSTANT: "`true` or `false` as it stands.",
    },
    name="HandoffClauseKind",
)
publish_enum(
    DecidedBy,
    "What settled who goes on after a reply.",
    {
        DecidedBy.RULE: "The first handoff rule that held and whose target could take over.",
        DecidedBy.ANALYSIS: "No rule fired; a model read from the reply who is to go on.",
        DecidedBy.AFTER_WORK: "Neither: the team's after-work behaviour.",
    },
    name="HandoffDecidedBy",
)
publish_enum(
    ReturnPolicy,
    "To whom a conversation comes back when a handoff ends.",
    {
        ReturnPolicy.CALLER: "To the agent that handed it over.",
        ReturnPolicy.ORCHESTRATOR: "To the team's default agent.",
        ReturnPolicy.HUMAN: "To a person: the agent that handed it over has it, and says nothing by itself.",
        ReturnPolicy.NONE: "To nobody: it stays where it is, until somebody returns it or the agent is stopped. "
        "What a rule passed on comes back if who took over cannot make its first reply.",
    },
)
publish_enum(
    HandoffOutcome,
    "How a handoff ended.",
    {
        HandoffOutcome.RETURNED: "It was returned.",
        HandoffOutcome.TIMED_OUT: "Its time was over.",
        HandoffOutcome.FAILED: "Who took over could not reply, or crashed.",
        HandoffOutcome.AGENT_UNAVAILABLE: "Who took over was paused or archived.",
        HandoffOutcome.CANCELLED: "The conversation was closed, a handoff that it depends on ended, or ten newer ones "
        "with the policy NONE followed it.",
    },
)
publish_enum(
    VariableSource,
    "Where the value of a context variable comes from. Where several give one, the later of this list counts.",
    {
        VariableSource.SYSTEM: "Parley itself, such as `writer_load` and `step_count`.",
        VariableSource.TEAM: "The team's `context_variables`.",
        VariableSource.INPUT: "The caller, for names in the team's `input_variables`.",
        VariableSource.RUNTIME: "Data of a reply, for names in the team's `runtime_variables`, and what it completes.",
        VariableSource.TEXT: "A line in a reply's text. Only rules with `trustsText` compare with it.",
    },
    name="ContextVariableSource",
)
