"""Errors of the domain: each knows its stable code and says what to do next. GraphQL and jobs map them elsewhere."""

from __future__ import annotations

from typing import Any, ClassVar


class AppError(Exception):
    """A refusal that a caller can act on. `details` are the refusal's own fields, shown to the client."""

    code: ClassVar[str] = "ERROR"

    def __init__(self, message: str, **details: Any) -> None:
        super().__init__(message)
        self.message = message
        self.details = details


class FieldProblem(dict[str, Any]):
    """One wrong field: its path in the input, what is wrong with it, and where known the line of the file."""

    def __init__(self, path: str, message: str, line: int | None = None) -> None:
        super().__init__(path=path, message=message, line=line)


class DocumentProblem(FieldProblem):
    """A wrong field inside a JSON document that the caller gave: its path is in the document's own words."""


class InvalidInput(AppError):
    code = "INVALID_INPUT"

    def __init__(self, message: str, problems: list[FieldProblem] | None = None, **details: Any) -> None:
        super().__init__(message, problems=problems or [], **details)
        self.problems = problems or []

    @classmethod
    def of(cls, path: str, message: str) -> InvalidInput:
        return cls(f"{path}: {message}", [FieldProblem(path, message)])


def check_text(path: str, text: str, *, most: int, least: int = 0) -> str:
    """The text without surrounding space; raises InvalidInput when the database could not keep it as it is."""
    text = text.strip()
    if not least <= len(text) <= most:
        raise InvalidInput.of(path, f"must be {least} to {most} characters long")
    if "\0" in text:
        raise InvalidInput.of(path, "must not contain a null character")
    return text


class QuotaExceeded(AppError):
    """A sender has as much open as it may have; nothing was done."""

    code = "QUOTA_EXCEEDED"

    def __init__(self, what: str, *, limit: int, setting: str, instead: str) -> None:
        super().__init__(
            f"{what}: {limit:,} is the most at a time ({setting}). {instead}", limit=limit, setting=setting
        )


class NotFound(AppError):
    code = "NOT_FOUND"


class Conflict(AppError):
    code = "CONFLICT"


class Forbidden(AppError):
    code = "FORBIDDEN"


class Unauthenticated(AppError):
    code = "UNAUTHENTICATED"


class RateLimited(AppError):
    code = "RATE_LIMITED"


class Unavailable(AppError):
    """A part that we stand on (Postgres, Redis) is away; the same call may succeed later."""

    code = "UNAVAILABLE"


class TookTooLong(AppError):
    """The same call would take as long again: ask for less."""

    code = "TIMEOUT"


class LimitExceeded(AppError):
    """A request asks for more than a limit allows. Names the limit, the value and, where there is one, the setting."""

    code = "LIMIT_EXCEEDED"

    def __init__(self, message: str, *, limit: str, value: int, maximum: int, setting: str | None = None) -> None:
        named = {"setting": setting} if setting else {}
        super().__init__(message, limit=limit, value=value, maximum=maximum, **named)


class ConfigurationError(AppError):
    code = "CONFIGURATION"
