"""A decision in words: who answers, what decided, and with which model."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from app.routing.choice import RoutingMode
from app.routing.explain import explain
from app.routing.router import Reason
from app.routing.select import Strategy
from app.routing.stand_in import NO_MATCH, NOBODY
from tests.fixtures.decided import BY_SKILL

ROUTER = {"mode": RoutingMode.ROUTER, "confidence": 0.5}
DIRECT = {"mode": RoutingMode.DIRECT, "confidence": 1.0}
FALLEN: dict[str, Any] = {"reason": Reason.DEFAULT, "fallback_used": True}


@pytest.mark.parametrize(
    ("otherwise", "said"),
    [
        ({}, "Luke answers. Luke has the best score, 0.83, at or above the threshold of 0.60 (TOP_1)."),
        (
            {"strategy": Strategy.ENSEMBLE, "selected": ("Luke", "Ada", "Zoe")},
            "Luke, Ada and Zoe answer. Luke has the best score, 0.83, at or above the threshold of 0.60 (ENSEMBLE).",
        ),
        (
            {"reason": Reason.HANDOFF},
            "Luke answers. Luke has the best score, 0.83, at or above the threshold of 0.60 (TOP_1). The conversation "
            "moves on from its current agent.",
        ),
        (ROUTER, "Luke answers. Luke has the best skill match, 0.50 (TOP_1)."),
        (ROUTER | {"kept_current": True}, "Luke answers. Luke has the conversation, and its skills match: 0.50."),
        (
            {"reason": Reason.USER_MENTION},
            "Luke answers. The message is addressed to Luke, which comes before every score.",
        ),
        (DIRECT | {"reason": Reason.USER_MENTION}, "Luke answers. Collaboration is off, and Luke was named."),
        (
            DIRECT | {"reason": Reason.DEFAULT},
            "Luke answers. Collaboration is off, and Luke is the team's default agent.",
        ),
        (FALLEN | {"warning": NO_MATCH}, f"Luke answers. {NO_MATCH}"),
    ],
)
def test_decision_in_words(otherwise: dict[str, Any], said: str) -> None:
    assert explain(replace(BY_SKILL, **otherwise)) == f"{said} Model tier 0 (offline)."


def test_tier_that_was_overridden_says_why() -> None:
    decided = replace(BY_SKILL, tier=1, model="openai:m1", tier_override_reason="tier 1 was asked for")

    assert explain(decided).endswith("Model tier 1 (openai:m1): tier 1 was asked for.")


def test_where_nobody_answers_no_model_does() -> None:
    assert explain(replace(BY_SKILL, **FALLEN, selected=(), warning=NOBODY)) == f"Nobody answers. {NOBODY}"
