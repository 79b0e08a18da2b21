"""A running endpoint, as the transports are tested on."""

from tests.fixtures.http import endpoint, serve, shared_database_url

__all__ = ["endpoint", "serve", "shared_database_url"]
