"""Which participants suit which pattern. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from typing import Protocol

from app.collaborations.errors import ParticipantsUnsuitable
from app.collaborations.models import CollaborationPattern, CollaborationTemplate, ParticipantRole
from app.collaborations.spec import MOST_PARTICIPANTS
from app.errors import FieldProblem, InvalidInput

_LEAD, _WORKER, _REVIEWER, _CONTRIBUTOR = ParticipantRole
NONE, ONE, MAYBE = (0, 0), (1, 1), (0, 1)
SOME, PAIR = (1, MOST_PARTICIPANTS - 1), (2, MOST_PARTICIPANTS)
Span = tuple[int, int]
# How many of each role; a pipeline and a vote care only for how many there are in all.
_ROLES: dict[CollaborationPattern, dict[ParticipantRole, Span]] = {
    CollaborationPattern.SUPERVISOR_WORKER: {_LEAD: ONE, _WORKER: SOME, _REVIEWER: NONE, _CONTRIBUTOR: NONE},
    CollaborationPattern.PIPELINE: {_LEAD: MAYBE},
    CollaborationPattern.PEER_REVIEW: {_LEAD: MAYBE, _WORKER: ONE, _REVIEWER: (1, 5), _CONTRIBUTOR: NONE},
    CollaborationPattern.BRAINSTORM: {_LEAD: ONE},
    CollaborationPattern.CONSENSUS: {_LEAD: MAYBE},
    CollaborationPattern.DELEGATION: {_LEAD: MAYBE, _WORKER: ONE, _REVIEWER: NONE, _CONTRIBUTOR: NONE},
}
_TEMPLATE_ROLES: dict[CollaborationTemplate, dict[ParticipantRole, Span]] = {
    CollaborationTemplate.ARCHITECT_DEVELOPER_REVIEWER: {
        _LEAD: ONE, _WORKER: (1, 10), _REVIEWER: (1, 5), _CONTRIBUTOR: NONE,
    },
}  # fmt: skip
# Of all but the lead; in a pipeline the lead, too, has a stage.
_IN_ALL: dict[CollaborationPattern, Span] = {
    CollaborationPattern.PIPELINE: PAIR,
    CollaborationPattern.BRAINSTORM: SOME,
    CollaborationPattern.CONSENSUS: PAIR,
}


class Seated(Protocol):
    """Anybody in a seat; `agent` tells agents apart, and is None where a group's is not picked yet."""

    @property
    def agent(self) -> Hashable: ...
    @property
    def role(self) -> ParticipantRole: ...
    @property
    def stage(self) -> str | None: ...


def check_roster(
    pattern: CollaborationPattern, template: CollaborationTemplate | None, participants: Sequence[Seated]
) -> None:
    """Raises ParticipantsUnsuitable, or InvalidInput for an agent or a stage that is there twice."""
    found = Counter(one.role for one in participants)
    for role, (least, most) in (_TEMPLATE_ROLES[template] if template else _ROLES[pattern]).items():
        if not least <= found[role] <= most:
            raise ParticipantsUnsuitable(pattern, role, least=least, most=most, found=found[role])
    counted = len(participants) - (found[_LEAD] if pattern is not CollaborationPattern.PIPELINE else 0)
    least, most = (0, MOST_PARTICIPANTS) if template else _IN_ALL.get(pattern, (0, MOST_PARTICIPANTS))
    if not least <= counted <= most:
        raise ParticipantsUnsuitable(pattern, None, least=least, most=most, found=counted)
    _refuse_twice(pattern, participants)


def _refuse_twice(pattern: CollaborationPattern, participants: Sequence[Seated]) -> None:
    """In a pipeline an agent may have several stages; a stage is one agent's everywhere."""
    agents: set[Hashable] = set()
    stages: set[str] = set()
    problems = []
    for place, one in enumerate(participants):
        stage = (one.stage or "").casefold()
        if one.agent in agents and (pattern is not CollaborationPattern.PIPELINE or not stage):
            problems.append(FieldProblem(f"participants.{place}.agent_id", "takes part already"))
        if stage and stage in stages:
            problems.append(FieldProblem(f"participants.{place}.stage", "is the name of an earlier stage"))
        agents |= {one.agent} - {None}
        stages |= {stage} - {""}
    if problems:
        raise InvalidInput("; ".join(f"{one['path']}: {one['message']}" for one in problems), problems)
