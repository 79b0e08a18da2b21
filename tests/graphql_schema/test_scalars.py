"""What a scalar does not take is refused in words."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from graphql import GraphQLError

from graphql_schema.scalars import parse_usd


@pytest.mark.parametrize(
    ("given", "amount"),
    [(0.1, "0.1"), (3, "3"), ("12.345678", "12.345678"), (-0.5, "-0.5"), (1_000_000_000_000, "1000000000000")],
)
def test_amounts_are_read_exactly(given: Any, amount: str) -> None:
    assert parse_usd(given) == Decimal(amount)


@pytest.mark.parametrize(
    "given", [True, None, "a lot", "", [1], 0.1234567, "1e-7", "NaN", "Infinity", 1e300, "1e999", "-1e23"]
)
def test_what_is_no_amount_is_refused_in_words(given: Any) -> None:
    with pytest.raises(GraphQLError, match="is not an amount") as refused:
        parse_usd(given)

    assert "class" not in refused.value.message
