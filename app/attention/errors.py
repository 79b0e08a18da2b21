"""Refusals of what needs a person."""

from __future__ import annotations

from app.attention.models import AttentionItem, AttentionState
from app.errors import AppError

_WORDS = {
    AttentionState.ANSWERED: "answered",
    AttentionState.EXPIRED: "closed at its deadline",
    AttentionState.WITHDRAWN: "withdrawn",
}


class AlreadyAnswered(AppError):
    """Somebody else was first, or the deadline was; the details say who and what."""

    code = "ALREADY_ANSWERED"

    def __init__(self, item: AttentionItem) -> None:
        said = ": ".join(filter(None, (item.option, item.answer)))
        told = f" with '{said[:200]}'" if said else ""
        super().__init__(
            f"This was already {_WORDS[item.state]} by {item.closed_by}{told}. Nothing was changed.",
            status=item.state.name,
            answered_by=item.closed_by,
            option=item.option,
            answer=item.answer,
        )
