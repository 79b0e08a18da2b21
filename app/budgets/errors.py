"""Refusals of budgets."""

from __future__ import annotations

from decimal import Decimal

from app.budgets.models import AccountKind
from app.errors import AppError

_WHOSE = {
    AccountKind.TEAM_DAY: "The team's budget of today",
    AccountKind.TEAM_MONTH: "The team's budget of this month",
    AccountKind.COLLABORATION: "The collaboration session's budget",
    AccountKind.TASK: "The task's budget",
}


class BudgetExhausted(AppError):
    """Less is left than was asked for; nothing was reserved."""

    code = "BUDGET_EXHAUSTED"

    def __init__(self, *, scope: AccountKind, cap: Decimal, reserved: Decimal, spent: Decimal, asked: Decimal) -> None:
        left = max(cap - reserved - spent, Decimal(0))
        super().__init__(
            f"{_WHOSE[scope]} has {left:f} of {cap:f} USD left ({reserved:f} reserved, {spent:f} spent); {asked:f} was "
            f"asked for. Ask for less, wait until running tasks end, or raise the cap.",
            scope=scope.name,
            cap=cap,
            reserved=reserved,
            spent=spent,
            asked=asked,
        )
