"""Which model tier a query deserves: by its complexity, unless somebody asked otherwise or money is short."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

TIERS = (0, 1, 2)
MIDDLE_FROM, TOP_FROM = 3.0, 6.0  # complexity, 0 to 10


@dataclass(frozen=True)
class TierChoice:
    """`override_reason` says why it is another tier than the complexity suggests; None when it is that one."""

    tier: int
    model: str
    override_reason: str | None = None


def tier_of(complexity: float) -> int:
    return 0 if complexity < MIDDLE_FROM else 1 if complexity < TOP_FROM else 2


def choose_tier(
    complexity: float,
    *,
    models: Sequence[str],
    costs_usd: Sequence[Decimal],
    left_usd: Decimal,
    requested: int | None = None,
) -> TierChoice:
    """`models` and `costs_usd` (estimated for this query) are by tier. Tier 0 is chosen even when it is unaffordable:
    whether the work may start at all is the cost guard's decision."""
    suggested = tier_of(complexity)
    wanted = suggested if requested is None else requested
    tier = next((lower for lower in range(wanted, 0, -1) if costs_usd[lower] <= left_usd), 0)
    reason = None
    if tier < wanted:
        reason = f"tier {wanted} would cost {costs_usd[wanted]} USD and {left_usd} USD are left"
    elif tier != suggested:
        reason = f"tier {tier} was asked for; the complexity {complexity:g} suggests tier {suggested}"
    return TierChoice(tier, models[tier], reason)
