"""Takes out of what a task's work says what its owner wants kept nowhere. Pure."""

from __future__ import annotations

from typing import Any, TypeVar

from app.redaction import redacted
from app.tasks.models import Task

T = TypeVar("T")
_SHORT = 100  # characters: a mark has room in any text


def without_secrets(task: Task, said: T) -> T:
    """A text, or a document of texts, as it may be kept with this task."""
    if task.redacts is None:
        return said
    clean: T = redacted(said, task.redacts)
    return clean


def arguments_without_secrets(task: Task, given: dict[str, Any]) -> dict[str, Any]:
    """What a tool is given in this task's work, whatever it then does with it. The names are the tool's own: a
    `session_id` is no secret. A mark may be longer than what it stands for: a text that filled its limit is cut."""
    if task.redacts is None:
        return given
    return {name: _argument(task, value) for name, value in given.items()}


def _argument(task: Task, value: Any) -> Any:
    clean = without_secrets(task, value)
    return clean[: max(len(value), _SHORT)] if isinstance(clean, str) else clean
