"""`parley worker`."""

from __future__ import annotations

from app.cli.connection import connected_settings
from app.cli.descriptors import raise_descriptor_limit
from jobs.worker import run_worker


def command() -> None:
    """Run a worker, which executes the tasks. Run as many as you like on one database and Redis."""
    raise_descriptor_limit()
    run_worker(connected_settings())
