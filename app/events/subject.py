"""What an event is about, as far as those who follow it have to know."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID


@dataclass(frozen=True, slots=True)
class TaskSubject:
    """A task with its place in its tree, and the agents besides the assignee whom the event concerns.

    A tree is at most four deep, so the first task, the two above and the task itself are all of its path.
    """

    id: UUID
    root_id: UUID
    parent_id: UUID | None
    grandparent_id: UUID | None
    creator_id: UUID | None
    former_assignee_id: UUID | None = None
