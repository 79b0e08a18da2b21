"""What an answer may cost: tokens guessed from the query's length, times the price of the tier's model."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import ROUND_UP, Decimal

CHARACTERS_PER_TOKEN = 4
TOKENS_OF_AN_ANSWER = 2_000  # the agent's instructions, what it looks up and what it says
MILLION = 1_000_000
SMALLEST = Decimal("0.000001")  # US dollars
FREE = ("offline", "ollama:")


def estimated_costs(
    text: str, *, models: Sequence[str], usd_per_million: Sequence[Decimal], agents: int
) -> list[Decimal]:
    """US dollars by tier, rounded up, when `agents` answer. Models on one's own machines cost nothing."""
    tokens = agents * (-(-len(text) // CHARACTERS_PER_TOKEN) + TOKENS_OF_AN_ANSWER)
    return [
        Decimal(0) if model.startswith(FREE) else (tokens * price / MILLION).quantize(SMALLEST, ROUND_UP)
        for model, price in zip(models, usd_per_million, strict=True)
    ]
