"""Takes out of what a task's work says what its owner wants kept nowhere. Pure."""

from __future__ import annotations

from typing import TypeVar

from app.redaction import redacted
from app.tasks.models import Task

T = TypeVar("T")


def without_secrets(task: Task, said: T) -> T:
    """A text, or a document of texts, as it may be kept with this task."""
    if task.redacts is None:
        return said
    clean: T = redacted(said, task.redacts)
    return clean
