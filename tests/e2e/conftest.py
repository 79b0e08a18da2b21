"""Real processes."""

from tests.fixtures.installation import installation, processes

__all__ = ["installation", "processes"]
