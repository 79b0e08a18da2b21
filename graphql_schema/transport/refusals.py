"""Turns what stops a request before it runs into an answer, with the HTTP status that fits it best."""

from __future__ import annotations

import orjson
from graphql import GraphQLError

from app.errors import AppError, Forbidden, NotFound, RateLimited, TookTooLong, Unauthenticated, Unavailable
from app.observability import metrics
from graphql_schema.answer import Answer, refusal
from graphql_schema.planner.errors import TooCostly
from graphql_schema.transport.limits import LIMIT_EXCEEDED

# 400 means a document at fault, which becomes 200 for clients that accept only application/json. A limit is no such
# fault: it must stay a refusal for everybody, so it has a status of its own.
DOCUMENT_STATUS = 400
LIMIT_STATUS = 422
AWAY_RETRY_AFTER_S = 2
_STATUS: dict[type[AppError], int] = {
    Unauthenticated: 401,
    Forbidden: 403,
    NotFound: 404,
    RateLimited: 429,
    Unavailable: 503,
    TookTooLong: 504,
}
_LIMITS = frozenset([LIMIT_EXCEEDED, TooCostly.code])


class HttpRefusal(AppError):
    """Refused for its form as an HTTP request: the status holds whatever media type the client accepts."""

    def __init__(self, status: int, code: str, message: str, headers: list[tuple[bytes, bytes]] | None = None) -> None:
        super().__init__(message)
        self.code = code  # type: ignore[misc]
        self.status = status
        self.headers = headers or []


class Refused(Exception):
    """Nothing was executed; `answer` says why."""

    def __init__(self, answer: Answer) -> None:
        super().__init__(answer.body)
        self.answer = answer


def from_graphql_errors(errors: list[GraphQLError]) -> Answer:
    codes = {(error.extensions or {}).get("code") for error in errors}
    for code in codes:
        metrics.REFUSALS.labels(code or "ERROR").inc()
    body = orjson.dumps({"errors": [error.formatted for error in errors]})
    return Answer(body, refused=True, status=LIMIT_STATUS if LIMIT_EXCEEDED in codes else DOCUMENT_STATUS)


def from_app_error(error: AppError) -> Answer:
    """The domain's refusal of a whole request, with its details as extensions."""
    metrics.REFUSALS.labels(error.code).inc()
    details = {_camel(name): value for name, value in error.details.items() if name != "retry_after_s"}
    retry_after_s = error.details.get("retry_after_s", AWAY_RETRY_AFTER_S if isinstance(error, Unavailable) else None)
    if retry_after_s is not None:
        details["retryAfterSeconds"] = retry_after_s
    return refusal(error.message, error.code, status=_status(error), retry_after_s=retry_after_s, **details)


def _status(error: AppError) -> int:
    if isinstance(error, HttpRefusal):
        return error.status
    if error.code in _LIMITS:
        return LIMIT_STATUS
    return next((status for kind, status in _STATUS.items() if isinstance(error, kind)), DOCUMENT_STATUS)


def _camel(name: str) -> str:
    head, *tail = name.split("_")
    return head + "".join(part.capitalize() for part in tail)
