"""What is to be done next for a reply, by its strategy and how far the chosen agents are. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum

from app.conversations.models import ContributionStatus
from app.routing.select import Strategy

AT_ONCE = frozenset({Strategy.TOP_K, Strategy.ENSEMBLE})


class Step(Enum):
    WAIT = "wait"
    ASK_ALL = "ask all"
    ASK_NEXT = "ask next"
    ANSWER = "answer"
    GIVE_UP = "give up"


def next_step(strategy: Strategy, chosen: Sequence[ContributionStatus]) -> Step:
    """Several work at once, or one after the other until the first that replies. Whoever works is waited for."""
    if ContributionStatus.RUNNING in chosen:
        return Step.WAIT
    if ContributionStatus.WAITING in chosen and strategy in AT_ONCE:
        return Step.ASK_ALL
    if ContributionStatus.COMPLETED in chosen:
        return Step.ANSWER
    return Step.ASK_NEXT if ContributionStatus.WAITING in chosen else Step.GIVE_UP
