"""Refusals of handoffs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

from app.errors import AppError
from app.handoffs.condition.problem import ConditionProblem


class InvalidCondition(AppError):
    """The condition of a rule cannot be read, or names what does not exist."""

    code = "INVALID_CONDITION"

    def __init__(self, problems: Sequence[ConditionProblem]) -> None:
        super().__init__("; ".join(map(str, problems)), problems=[asdict(problem) for problem in problems])
        self.problems = problems
