"""The transports' own fixtures."""

from tests.fixtures.http import endpoint, serve, shared_database_url

__all__ = ["endpoint", "serve", "shared_database_url"]
