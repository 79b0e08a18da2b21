"""Errors on their way out: the domain's with their code, the client's as they are, ours masked with an id."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import structlog
from graphql import GraphQLError

from app.errors import AppError
from app.ids import new_id

log = structlog.get_logger(__name__)


def formatted(errors: Sequence[GraphQLError]) -> list[dict[str, Any]]:
    return [format_error(error) for error in errors]


def format_error(error: GraphQLError) -> dict[str, Any]:
    shown: dict[str, Any] = dict(error.formatted)
    original = error.original_error
    if isinstance(original, AppError):
        shown["extensions"] = {"code": original.code, **original.details}
    elif original is not None and not isinstance(original, GraphQLError):
        shown["message"], shown["extensions"] = masked(original, shown.get("path"))
    else:
        shown.setdefault("extensions", {}).setdefault("code", "BAD_REQUEST")
    return shown


def masked(error: BaseException, path: Any = None) -> tuple[str, dict[str, Any]]:
    """What a client sees of a bug: an id under which the log has the rest."""
    error_id = new_id().hex
    log.error("internal error", error_id=error_id, path=path, exc_info=error)
    message = f"Something went wrong on our side. Quote error {error_id} when you report it."
    return message, {"code": "INTERNAL", "errorId": error_id}
