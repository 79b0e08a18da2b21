"""What jobs share: a typed view of arq's context dictionary."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from app.config import Settings
from app.conversations.answering import Answering
from app.db.engine import Database
from app.db.transaction import Transactions
from jobs.task_runner import TaskRunner

_KEY = "parley"


@dataclass(frozen=True, slots=True)
class JobContext:
    settings: Settings
    database: Database
    transaction: Transactions
    runner: TaskRunner
    answering: Answering

    @classmethod
    def of(cls, ctx: dict[str, Any]) -> JobContext:
        context: JobContext = ctx[_KEY]
        return context

    def as_arq_context(self) -> dict[str, Any]:
        return {_KEY: self}
