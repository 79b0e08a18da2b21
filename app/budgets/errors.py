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


class AllowanceExceeded(AppError):
    """An agent's key would start work outside any task for more than the agent's daily allowance."""

    code = "ALLOWANCE_EXCEEDED"

    def __init__(self, *, agent: str, allowance: Decimal, used: Decimal, asked: Decimal) -> None:
        left = max(allowance - used, Decimal(0))
        super().__init__(
            f"{agent} works on no task, and its daily allowance for other work has {left:f} of {allowance:f} USD left; "
            f"{asked:f} was asked for. Claim a task and start the work below it, ask for less, or have an "
            "admin grant more (setAgentAllowance).",
            agent=agent,
            allowance=allowance,
            used=used,
            asked=asked,
        )
