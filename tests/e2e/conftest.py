"""Real processes."""

from tests.fixtures.installation import installation, migrated_cluster, migrated_postgres, server_environment

__all__ = ["installation", "migrated_cluster", "migrated_postgres", "server_environment"]
