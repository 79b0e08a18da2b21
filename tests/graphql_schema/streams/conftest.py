"""Subscribers and writers on a whole Parley that polls so rarely that only wake-ups explain what arrives."""

from __future__ import annotations

from typing import Any

import pytest

from app.config import Settings, load_settings
from app.db.engine import Database


@pytest.fixture
def parley_settings(database_url: str, redis_url: str) -> Settings:
    return load_settings(
        DATABASE_URL=database_url, REDIS_URL=redis_url, port=0, log_level="error", event_poll_s=30, shutdown_grace_s=2
    )


@pytest.fixture
def statements(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What the read connections of this process were asked, in order."""
    asked: list[str] = []
    fetch = Database.fetch

    async def counted(self: Database, sql: str, *arguments: Any) -> list[Any]:
        asked.append(sql)
        return await fetch(self, sql, *arguments)

    monkeypatch.setattr(Database, "fetch", counted)
    return asked
