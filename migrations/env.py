"""Alembic's entry: runs the migrations on a connection that app.db.migrate gives it."""

from __future__ import annotations

from typing import Any

from alembic import context

from app.db.tables import metadata


def include(item: Any, name: str | None, kind: str, reflected: bool, compare_to: Any) -> bool:
    """Partitions are made and dropped at run time, not by migrations."""
    return not (kind == "table" and reflected and name is not None and name.startswith("event_p"))


context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    include_object=include,
    compare_type=True,
    compare_server_default=False,
    transaction_per_migration=True,
)
with context.begin_transaction():
    context.run_migrations()
