"""Refusals of memory."""

from __future__ import annotations

from app.errors import AppError


class MemoryFull(AppError):
    code = "MEMORY_FULL"

    def __init__(self, whose: str, limit: int) -> None:
        super().__init__(
            f"{whose} {limit:,} memories, the most there may be. Forget some, or give them a time to expire.",
            limit=limit,
        )
