"""`parley migrate`."""

from __future__ import annotations

from typing import Annotated

import typer

from app.cli.connection import reachable_settings
from app.db import migrate as migrations
from app.errors import ConfigurationError, Conflict
from app.upgrade import upgrade


def command(
    check: Annotated[bool, typer.Option("--check", help="Change nothing; exit 1 when the database is behind.")] = False,
) -> None:
    """Bring the database up to date. Safe to run by several machines at once: they take turns."""
    url = reachable_settings().database_url
    if url is None:
        raise ConfigurationError("DATABASE_URL is not set, and no `parley dev` runs here.")
    before, head = migrations.current(url), migrations.head()
    if check and before != head:
        raise Conflict(f"The database is at {before or 'nothing'}, this version needs {head}. Run `parley migrate`.")
    if not check:
        upgrade(url)
    migrated = f"Migrated from {before or 'nothing'} to {head}."
    typer.echo(f"The database is up to date ({head})." if before == head else migrated)
