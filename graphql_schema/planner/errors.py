"""Refusals of the planner. They are raised before anything runs and refuse the whole operation."""

from __future__ import annotations

from app.config import environment_name
from app.errors import AppError


class NotPlanned(Exception):
    """Some field of the selection needs Python; ordinary execution takes over."""

    def __init__(self, field: str | None = None) -> None:
        super().__init__(field)
        self.field = field


class InvalidArgument(AppError):
    """An argument that GraphQL's types allow and the field does not."""

    code = "INVALID_ARGUMENT"

    def __init__(self, argument: str, message: str) -> None:
        super().__init__(f"Argument '{argument}': {message}", argument=argument)


class NotExportable(AppError):
    """A whole connection cannot be read in the way that the operation asks."""

    code = "NOT_EXPORTABLE"


class TooCostly(AppError):
    code = "COST_LIMIT_EXCEEDED"

    def __init__(self, cost: int, maximum: int) -> None:
        super().__init__(
            f"This operation costs {cost} points, about one for each row that it may return; the most is {maximum}. "
            "Ask for smaller pages, less nesting or fewer text conditions, or for its parts one after the other.",
            limit="cost",
            value=cost,
            maximum=maximum,
            setting=environment_name("max_cost"),
        )
