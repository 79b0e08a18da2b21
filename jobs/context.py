"""A typed view of arq's context dictionary."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from app.config import Settings
from app.db.engine import Database
from app.db.transaction import Transactions

_KEY = "parley"


@dataclass(frozen=True, slots=True)
class JobContext:
    settings: Settings
    database: Database
    transaction: Transactions

    @classmethod
    def of(cls, ctx: dict[str, Any]) -> JobContext:
        found: JobContext = ctx[_KEY]
        return found

    def put_into(self, ctx: dict[str, Any]) -> None:
        ctx[_KEY] = self
