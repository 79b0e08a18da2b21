"""Enums of budgets in the schema."""

from __future__ import annotations

from app.budgets.models import AccountKind
from graphql_schema.publish_enum import publish_enum

publish_enum(
    AccountKind,
    "Whose budget an account is.",
    {
        AccountKind.TEAM_DAY: "The team's for one UTC day.",
        AccountKind.TEAM_MONTH: "The team's for one UTC month.",
        AccountKind.COLLABORATION: "A collaboration session's, for all its stages.",
        AccountKind.TASK: "A task's, for itself and everything below it.",
    },
    name="BudgetScope",
)
