"""Users ask for an agent back in their own words; other words ask for nobody."""

from __future__ import annotations

from uuid import UUID

import pytest

from app.conversations.handoffs.wish import Former, wanted_back

LUKE, KYRA = Former(UUID(int=1), "luke", "Luke"), Former(UUID(int=2), "kyra", "Kyra Möller")
FORMER = [LUKE, KYRA]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("@kyra what do you think?", KYRA),
        ("Thanks! Go back to Kyra Möller please.", KYRA),
        ("please go back to kyra", KYRA),
        ("I would like to talk to Luke again", LUKE),
        ("Return me to Luke.", LUKE),
        ("go back", LUKE),
        ("Take me back, please!", LUKE),
        ("@ada and go back to Kyra", None),
        ("Don't go back to Kyra", None),
        ("Let us not go back to Kyra yet", None),
        ("go back to step 2", None),
        ("I want to talk to Luke", None),
        ("back to Lukewarm water", None),
        ("Kyra said we can go on", None),
        ("go back and check the logs", None),
        ("", None),
        ("back to " * 20_000, None),
    ],
)
def test_a_wish_is_read_from_the_words(text: str, found: Former | None) -> None:
    assert wanted_back(text, FORMER) == found


def test_nobody_is_wanted_back_where_nobody_was() -> None:
    assert wanted_back("@kyra go back", []) is None
