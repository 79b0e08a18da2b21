"""Load balance: 1 for an idle agent, towards 0 the more it has to do and the slower it answers."""

from __future__ import annotations

from dataclasses import dataclass

HALF_CONVERSATIONS = 5
HALF_QUEUE = 5  # tasks
HALF_RESPONSE_S = 30.0
CONVERSATIONS, QUEUE, RESPONSE = 0.40, 0.35, 0.25


@dataclass(frozen=True)
class Load:
    active_conversations: int = 0
    queue_depth: int = 0  # tasks pending or in progress
    average_response_s: float = 0.0


def load_balance(load: Load) -> float:
    """Each part costs half of its share at its half value and never more than its share."""
    return 1 - (
        CONVERSATIONS * _filled(load.active_conversations, HALF_CONVERSATIONS)
        + QUEUE * _filled(load.queue_depth, HALF_QUEUE)
        + RESPONSE * _filled(load.average_response_s, HALF_RESPONSE_S)
    )


def _filled(amount: float, half: float) -> float:
    return amount / (amount + half)
