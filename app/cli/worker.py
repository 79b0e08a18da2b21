"""`parley worker`."""

from __future__ import annotations

from jobs.worker import run_worker

from app.cli.connection import connected_settings


def command() -> None:
    """Run a worker, which executes the tasks. Run as many as you like on one database and Redis."""
    run_worker(connected_settings())
