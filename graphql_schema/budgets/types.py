"""Budgets, as the graph shows them."""

from __future__ import annotations

from typing import Any

import strawberry
from sqlalchemy import ColumnElement, Date, and_, cast, func

from app.budgets import models
from graphql_schema.planner.mapping import column, expression, mapped
from graphql_schema.planner.sql import word
from graphql_schema.scalars import DateTime, Usd


@mapped(models.BudgetAccount.__table__)
@strawberry.type(description="What may be spent, what is set aside for work under way, and what was spent.")
class Budget:
    scope: models.AccountKind = column("Whose budget it is.", name="kind")
    cap: Usd = column("What may be spent in all.")
    reserved: Usd = column("Set aside for tasks under way that it funds.")
    spent: Usd = column("Spent: a task's own costs and the totals of the ended tasks below it.")
    remaining: Usd = expression(
        "What can still be spent or reserved; never below zero.",
        lambda row: func.greatest(row.cap - row.reserved - row.spent, 0),
    )
    closed_at: DateTime | None = column("When a task's budget was settled; null while it is open.")


def of_today(budget: Any, kind: models.AccountKind, unit: str) -> ColumnElement[bool]:
    """Whether an account is the team's of the present day or month; the scope keeps it to the team."""
    today = func.date_trunc(word(unit), func.timezone(word("UTC"), func.now()))
    return and_(
        budget.kind != word(models.AccountKind.TASK), budget.kind == word(kind), budget.period == cast(today, Date)
    )
