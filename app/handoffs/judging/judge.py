"""Who judges whether a reply says what a clause in plain language asks for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from app.config import HandoffJudge, Settings
from app.handoffs.condition.evaluation import Verdict

NOBODY = "nobody"


def next_agent(speaker: str) -> str:
    """What a model that judges this agent's reply also says, kept like a clause."""
    return f"§ who goes on after {speaker}"


def model_judge(settings: Settings) -> str | None:
    """The name under which the verdicts of a language model are kept; None where none is to judge."""
    chosen = settings.handoff_judge is HandoffJudge.MODEL and settings.model_tier_0 != "offline"
    return f"model-1/{settings.model_tier_0}" if chosen else None


class Judge(Protocol):
    """Safe to share between tasks. One that waits for a network is never called in a transaction: there the judge by
    embedding is, with the embedder of the default install, which is local."""

    @property
    def name(self) -> str:
        """Names the judge and its version: verdicts of two names are kept apart."""

    async def judge(self, reply: str, statements: Sequence[str]) -> Mapping[str, Verdict]:
        """A verdict for each statement. Raises EmbeddingFailed or InferenceFailed when nobody can say."""
