"""Contracts, as the graph shows them."""

from __future__ import annotations

import strawberry

from app.contracts import models
from app.ids import Prefix
from graphql_schema.node import Node
from graphql_schema.planner.connections import many, publish_connection
from graphql_schema.planner.mapping import column, mapped
from graphql_schema.scalars import JSON, DateTime


@mapped(models.Contract.__table__, prefix=Prefix.CONTRACT)
@strawberry.type(description="One version of a contract: what a task is given and what it must answer, as JSON Schema.")
class Contract(Node):
    name: str = column("Unique among the team's present contracts.", filter=True, order=True, group=True)
    version: int = column("Counts the versions under this name, from 1 to 1,000.", filter=True, order=True)
    description: str = column("What it is for, up to 2,000 characters; may be empty.", filter=True)
    built_in: bool = column(
        "Whether every team has it; then it cannot be changed.", filter=True, group=True, aggregate=True
    )
    input_schema: JSON | None = column(
        "JSON Schema (draft 2020-12) of what a task is given; null: anything. At most 64,000 bytes."
    )
    output_schema: JSON | None = column(
        "JSON Schema (draft 2020-12) of what a task must answer; null: anything. At most 64,000 bytes."
    )
    created_at: DateTime = column("When this version was saved.", filter=True, order=True)
    retired_at: DateTime | None = column(
        "When a newer version took its place or it was deleted; null while new tasks may name it.",
        filter=True,
        order=True,
    )
    tasks = many(
        "Task", "graphql_schema.tasks.types", "The tasks that were delegated under this version.",
        on=lambda contract, task: task.contract_id == contract.id,
    )  # fmt: skip


publish_connection(Contract)
