"""Enums of collaboration sessions in the schema."""

from __future__ import annotations

from app.collaborations import models
from app.collaborations.timeline import ArrowKind
from graphql_schema.publish_enum import publish_enum

publish_enum(
    models.CollaborationPattern,
    "How the agents of a session work together.",
    {
        models.CollaborationPattern.SUPERVISOR_WORKER: "1 lead and 1 to 19 workers: the workers work side by side, "
        "then the lead puts their results together.",
        models.CollaborationPattern.PIPELINE: "2 to 20 participants of any role, in their order: each stage is given "
        "the outputs of all before it. At most 1 lead.",
        models.CollaborationPattern.PEER_REVIEW: "1 worker and 1 to 5 reviewers: the work is revised until all of them "
        "approve or the rounds run out. At most 1 lead, who only decides on failures.",
        models.CollaborationPattern.BRAINSTORM: "1 lead and 1 to 19 others: everybody gives a view unseen by the "
        "others, then the lead puts the views together.",
        models.CollaborationPattern.CONSENSUS: "2 to 20 voters: independent votes with reasons, again in further "
        "rounds until enough agree. At most 1 lead, who words the outcome and does not vote.",
        models.CollaborationPattern.DELEGATION: "1 worker does one piece of work. At most 1 lead.",
    },
)
publish_enum(
    models.CollaborationTemplate,
    "A pattern whose stages are laid down.",
    {
        models.CollaborationTemplate.ARCHITECT_DEVELOPER_REVIEWER: "Pattern SUPERVISOR_WORKER with 1 lead (the "
        "architect), 1 to 10 workers (developers) and 1 to 5 reviewers: a plan of up to 12 tasks, its tasks as soon as "
        "what they need is done, a review, revisions in at most 3 rounds by default, a report. A developer has 600 "
        "seconds for a task and hands over what it has when they are over, a reviewer 300 seconds.",
    },
)
publish_enum(
    models.CollaborationStatus,
    "Where a session stands.",
    {
        models.CollaborationStatus.PLANNING: "The lead plans.",
        models.CollaborationStatus.ACTIVE: "The participants work.",
        models.CollaborationStatus.SYNTHESIZING: "The last stage puts everything together.",
        models.CollaborationStatus.COMPLETED: "Done; has a result.",
        models.CollaborationStatus.FAILED: "Ended early; see errorCode and error. What was made is kept.",
        models.CollaborationStatus.TIMED_OUT: "Its time ran out. What was made is kept.",
        models.CollaborationStatus.CANCELLED: "Stopped by somebody. What was made is kept.",
    },
)
publish_enum(
    models.ParticipantRole,
    "What a participant is there for.",
    {
        models.ParticipantRole.LEAD: "Plans, puts results together and decides on failures.",
        models.ParticipantRole.WORKER: "Makes something.",
        models.ParticipantRole.REVIEWER: "Judges what was made.",
        models.ParticipantRole.CONTRIBUTOR: "Gives a view or a vote.",
    },
    name="CollaborationRole",
)
publish_enum(
    models.ParticipantStatus,
    "What a participant does now.",
    {
        models.ParticipantStatus.WAITING: "Has nothing to do yet.",
        models.ParticipantStatus.WORKING: "Has a stage under way.",
        models.ParticipantStatus.COMPLETED: "Its last stage was done.",
        models.ParticipantStatus.FAILED: "Its last stage was not done.",
    },
    name="CollaborationParticipantStatus",
)
publish_enum(
    models.StageKind,
    "What a stage is.",
    {
        models.StageKind.PLAN: "The goal is broken down into tasks.",
        models.StageKind.WORK: "Somebody makes something.",
        models.StageKind.STEP: "A stage of a pipeline.",
        models.StageKind.CONTRIBUTION: "Somebody's own view.",
        models.StageKind.REVIEW: "Somebody judges what was made.",
        models.StageKind.REVISION: "Work is done again, by the reviews.",
        models.StageKind.VOTE: "Somebody chooses among options.",
        models.StageKind.SYNTHESIS: "Everything is put together.",
        models.StageKind.REPORT: "It is told what was made.",
        models.StageKind.DECISION: "The lead says what becomes of a stage that failed.",
    },
)
publish_enum(
    models.StageStatus,
    "Where a stage stands.",
    {
        models.StageStatus.WORKING: "Its task is open.",
        models.StageStatus.COMPLETED: "Done; has an output.",
        models.StageStatus.FAILED: "Its task failed for good, or its agent takes no work.",
        models.StageStatus.TIMED_OUT: "Its task's time ran out.",
        models.StageStatus.CANCELLED: "Its task was cancelled.",
    },
)
publish_enum(
    models.OnFailure,
    "What happens when a stage fails for good, after its task's own retries.",
    {
        models.OnFailure.ASK: "The session waits for decideSubtaskFailure, by its lead or a person, until its time is "
        "over. Stages that do not need the failed one go on.",
        models.OnFailure.ABORT: "The session fails at once.",
    },
)
publish_enum(
    models.FailureDecision,
    "What becomes of a stage that failed.",
    {
        models.FailureDecision.RETRY: "The same agent tries again; a stage has at most 3 attempts.",
        models.FailureDecision.REASSIGN: "Another agent takes its place and tries.",
        models.FailureDecision.ABORT: "The session fails.",
    },
)
publish_enum(
    ArrowKind,
    "What passes from one lane of a timeline to another.",
    {
        ArrowKind.ASSIGNED: "A stage was given to its agent.",
        ArrowKind.DELEGATED: "An agent gave another a task.",
        ArrowKind.ANSWERED: "The work ended, well or badly.",
    },
    name="TimelineArrowKind",
)
