"""Real processes."""

from tests.fixtures.installation import installation, server_environment

__all__ = ["installation", "server_environment"]
