"""`parley worker`."""

from __future__ import annotations

from app.cli.connection import connected_settings
from jobs.worker import run_worker


def command() -> None:
    """Run a worker, which executes the tasks. Run as many as you like on one database and Redis."""
    run_worker(connected_settings())
