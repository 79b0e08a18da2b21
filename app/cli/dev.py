"""`parley dev`."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Console

from app.config import load_settings
from app.dev.supervisor import StopAsked, Supervisor


def command(
    port: Annotated[int | None, typer.Option(help="Port of the API; 0 picks a free one. [PARLEY_PORT]")] = None,
) -> None:
    """Run everything on this machine: database, Redis, API and worker.

    With DATABASE_URL or REDIS_URL set, that service is used instead of an embedded one. Data is kept in .parley
    (PARLEY_DATA_DIR); Ctrl-C stops everything.
    """
    settings = load_settings(**({} if port is None else {"port": port}))
    try:
        Supervisor(settings, Console(stderr=True)).run()
    except StopAsked:
        raise typer.Exit(1) from None
