"""Refusals of consultations."""

from __future__ import annotations

from app.errors import AppError


class NotConsulted(AppError):
    """Somebody else was asked."""

    code = "NOT_CONSULTED"

    def __init__(self, asked: str | None) -> None:
        whom = f"{asked} was asked" if asked else "Nobody is asked now"
        super().__init__(f"{whom}, and only who was asked can answer.", asked=asked)
