"""Refusals of collaboration sessions."""

from __future__ import annotations

from app.collaborations.models import CollaborationPattern, ParticipantRole
from app.errors import AppError


class ParticipantsUnsuitable(AppError):
    """The pattern cannot work with these participants."""

    code = "PARTICIPANTS_UNSUITABLE"

    def __init__(
        self, pattern: CollaborationPattern, role: ParticipantRole | None, *, least: int, most: int, found: int
    ) -> None:
        beside = "" if pattern is CollaborationPattern.PIPELINE else " beside the lead"
        who = f"participants{beside}" if role is None else f"participants with the role {role.value}"
        span = f"exactly {least}" if least == most else f"{least} to {most}"
        super().__init__(
            f"The pattern {pattern.value} needs {span} {who}; there are {found}.",
            pattern=pattern.name,
            role=role.name if role else None,
            least=least,
            most=most,
            found=found,
        )
