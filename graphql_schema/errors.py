"""Errors on their way out: the domain's with their code, the client's as they are, ours masked with an id."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import structlog
from graphql import GraphQLError
from strawberry.utils.str_converters import to_camel_case

from app.errors import AppError, DocumentProblem, FieldProblem, InvalidInput
from app.ids import new_id

log = structlog.get_logger(__name__)


def formatted(errors: Sequence[GraphQLError]) -> list[dict[str, Any]]:
    return [format_error(error) for error in errors]


def format_error(error: GraphQLError) -> dict[str, Any]:
    shown: dict[str, Any] = dict(error.formatted)
    original = error.original_error
    if isinstance(original, InvalidInput):
        shown["message"], problems = in_words_of_the_schema(original)
        shown["extensions"] = {"code": original.code, **original.details, "problems": problems}
    elif isinstance(original, AppError):
        shown["extensions"] = {"code": original.code, **original.details}
    elif original is not None and not isinstance(original, GraphQLError):
        shown["message"], shown["extensions"] = masked(original, shown.get("path"))
    else:
        shown.setdefault("extensions", {}).setdefault("code", "BAD_REQUEST")
    return shown


def in_words_of_the_schema(error: InvalidInput) -> tuple[str, list[FieldProblem]]:
    """The message and the problems, by the names that fields and arguments have in the schema."""
    problems = [_problem(found) for found in error.problems]
    told = "; ".join(f"{one['path']}: {one['message']}" for one in problems if one["line"] is None)
    return told or error.message, problems


def _problem(found: FieldProblem) -> FieldProblem:
    """A path in a file or a document is in its own words already."""
    if found["line"] or isinstance(found, DocumentProblem):
        return found
    path = ".".join(to_camel_case(part) for part in found["path"].split("."))
    return FieldProblem(path, found["message"])


def masked(error: BaseException, path: Any = None) -> tuple[str, dict[str, Any]]:
    """What a client sees of a bug: an id under which the log has the rest."""
    error_id = new_id().hex
    log.error("internal error", error_id=error_id, path=path, exc_info=error)
    message = f"Something went wrong on our side. Quote error {error_id} when you report it."
    return message, {"code": "INTERNAL", "errorId": error_id}
