"""Enums of consultations in the schema."""

from __future__ import annotations

from app.consultations.models import (
    ConsultationOutcome,
    ConsultationPhase,
    ConsultationReason,
    ConsultationStatus,
    ExchangeKind,
    LoopKind,
    LoopResolution,
    Urgency,
)
from graphql_schema.publish_enum import publish_enum

publish_enum(
    ConsultationReason,
    "What kind of help an agent asks for.",
    {
        ConsultationReason.DATA_STRUCTURE: "How a model or its data are built.",
        ConsultationReason.SECURITY_REVIEW: "Whether something is secure.",
        ConsultationReason.API_CONTRACT: "How an interface behaves.",
        ConsultationReason.BUG_DEBUGGING: "Why something does not work.",
        ConsultationReason.REQUIREMENTS: "What is wanted.",
        ConsultationReason.INFRASTRUCTURE: "How something is deployed and run.",
        ConsultationReason.OTHER: "Anything else.",
    },
)
publish_enum(
    Urgency,
    "How soon an answer is needed; the priority of the specialist's task.",
    {
        Urgency.LOW: "Some time.",
        Urgency.NORMAL: "In its turn.",
        Urgency.HIGH: "Before ordinary work.",
        Urgency.CRITICAL: "Before everything else.",
    },
    name="ConsultationUrgency",
)
publish_enum(
    ConsultationStatus,
    "Where a consultation stands.",
    {
        ConsultationStatus.PENDING: "The specialist has not taken it up yet.",
        ConsultationStatus.IN_PROGRESS: "The specialist works on it.",
        ConsultationStatus.COMPLETED: "It is answered. A clarification makes it pending again.",
        ConsultationStatus.ESCALATED: "A person has to answer, redirect or close it.",
        ConsultationStatus.CLOSED: "It was closed without an answer, or its task was cancelled.",
    },
)
publish_enum(
    ConsultationOutcome,
    "What came of a consultation.",
    {
        ConsultationOutcome.SUCCESSFUL: "The specialist answered.",
        ConsultationOutcome.ESCALATED: "A person answered.",
        ConsultationOutcome.LOOP_DETECTED: "A person answered after a loop was found.",
        ConsultationOutcome.CLOSED: "Nobody answered.",
    },
)
publish_enum(
    ExchangeKind,
    "What was said in an exchange.",
    {
        ExchangeKind.QUESTION: "What the consultation is about.",
        ExchangeKind.RESPONSE: "An answer.",
        ExchangeKind.CLARIFICATION: "What the agent that asked wants to know besides.",
    },
    name="ConsultationExchangeKind",
)
publish_enum(
    ConsultationPhase,
    "What tokens were used for.",
    {
        ConsultationPhase.REQUEST: "The question with its context package; estimated, one token for four characters.",
        ConsultationPhase.ROUTING: "The text by which the specialist was chosen; estimated, and no model is asked.",
        ConsultationPhase.ANSWER: "The specialist's task, as its model counted; a person's answer is estimated.",
        ConsultationPhase.DELIVERY: "What the agent that asked is told; estimated.",
    },
)
publish_enum(
    LoopKind,
    "How it was seen that asking leads nowhere. All of it within the last hour.",
    {
        LoopKind.IDENTICAL: "The same question, of a calibrated likeness above 0.95, for the third time.",
        LoopKind.CIRCULAR: "Agents would wait for each other, by consultations, tasks or handoffs.",
        LoopKind.STALL: "More than five exchanges on one matter, and the last five brought nothing new.",
        LoopKind.TOO_MANY: "The agent has three open consultations and asks for one more.",
    },
    name="ConsultationLoopKind",
)
publish_enum(
    LoopResolution,
    "What became of a loop.",
    {
        LoopResolution.ESCALATED: "It waits for a person.",
        LoopResolution.RESOLVED: "A person answered.",
        LoopResolution.CONTINUED: "A person had another agent asked.",
        LoopResolution.CLOSED: "A person closed the consultation.",
    },
    name="ConsultationLoopResolution",
)
