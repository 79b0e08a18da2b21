"""What a session does next: its pattern says, unless a stage has failed. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from app.collaborations.models import CollaborationPattern, CollaborationTemplate, OnFailure
from app.collaborations.patterns import (
    brainstorm,
    consensus,
    delegation,
    peer_review,
    pipeline,
    supervisor_worker,
    workflow,
)
from app.collaborations.patterns.state import Fail, State, Step

MOST_ATTEMPTS = 3  # of one stage: the first, and two more that somebody decided on
PATTERNS: dict[CollaborationPattern, Callable[[State], Step]] = {
    CollaborationPattern.SUPERVISOR_WORKER: supervisor_worker.next_step,
    CollaborationPattern.PIPELINE: pipeline.next_step,
    CollaborationPattern.PEER_REVIEW: peer_review.next_step,
    CollaborationPattern.BRAINSTORM: brainstorm.next_step,
    CollaborationPattern.CONSENSUS: consensus.next_step,
    CollaborationPattern.DELEGATION: delegation.next_step,
}
TEMPLATES: dict[CollaborationTemplate, Callable[[State], Step]] = {
    CollaborationTemplate.ARCHITECT_DEVELOPER_REVIEWER: workflow.next_step,
}


@dataclass(frozen=True, slots=True)
class Failed:
    """A stage that did not complete: its name, why, and how often it was tried."""

    name: str
    why: str
    attempt: int


def next_step(
    pattern: CollaborationPattern,
    template: CollaborationTemplate | None,
    state: State,
    *,
    failed: Sequence[Failed] = (),
    on_failure: OnFailure = OnFailure.ASK,
) -> Step:
    """A failure that nobody is to decide on, or that was tried often enough, ends the session. Else what does not
    need the failed stage goes on, and the rest waits for a decision."""
    hopeless = next((one for one in failed if on_failure is OnFailure.ABORT or one.attempt >= MOST_ATTEMPTS), None)
    if hopeless is not None:
        tried = f" (tried {hopeless.attempt} times)" if hopeless.attempt > 1 else ""
        return Fail("STAGE_FAILED", f"'{hopeless.name}' failed{tried}: {hopeless.why}")
    return (TEMPLATES[template] if template else PATTERNS[pattern])(state)
