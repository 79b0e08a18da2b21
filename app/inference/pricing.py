"""What a response of a model costs, by the list of genai-prices that is installed; nothing is downloaded.

A model that the list does not know costs 0, is warned of once and is marked as not priced: refusing it would make
every model that is newer than the list useless. Models on one's own machines cost 0 and count as priced.
"""

from __future__ import annotations

from decimal import ROUND_UP, Decimal
from functools import cache

import structlog
from pydantic_ai.messages import ModelResponse

from app.inference.request import OFFLINE
from app.observability import metrics

log = structlog.get_logger(__name__)
FREE = frozenset({OFFLINE, "ollama"})
SMALLEST = Decimal("0.000001")  # costs are kept with six places


def price(provider: str, response: ModelResponse) -> Decimal | None:
    """US dollars to the last fraction, or None when the price is not known."""
    if provider in FREE:
        return Decimal(0)
    try:
        return response.cost().total_price
    except (LookupError, ValueError):
        metrics.MODEL_UNPRICED.inc()
        _warn(provider, response.model_name or "unknown")
        return None


def rounded(dollars: Decimal) -> Decimal:
    """Up, so that what was spent is never understated."""
    return dollars.quantize(SMALLEST, ROUND_UP)


@cache
def _warn(provider: str, model: str) -> None:
    log.warning("model has no known price and counts as free", provider=provider, model=model)
