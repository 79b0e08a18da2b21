"""Enums of events in the schema."""

from __future__ import annotations

from app.events.kinds import EventKind
from graphql_schema.publish_enum import publish_enum

publish_enum(
    EventKind, "What happened.", {kind: kind.value.replace(".", ": ").replace("_", " ") + "." for kind in EventKind}
)
