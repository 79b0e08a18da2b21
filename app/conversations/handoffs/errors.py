"""Refusals of handing a conversation over."""

from __future__ import annotations

from collections.abc import Sequence

from app.tasks.errors import ARROW, CycleDetected, OscillationDetected


class HandoffCycle(CycleDetected):
    """The agent waits for the conversation to come back."""

    def __init__(self, chain: Sequence[str]) -> None:
        super().__init__(chain, "This agent waits for the conversation to come back", "Return it instead.")


class HandoffOscillation(OscillationDetected):
    """The same two agents would pass it for the same reason once too often."""

    def __init__(self, chain: Sequence[str], limit: int) -> None:
        super().__init__(chain, limit)
        self.message = (
            f"{ARROW.join(chain)}: it was handed over like this for the same reason {limit} times since the user last "
            "spoke. Answer the user, or hand over for another reason."
        )
