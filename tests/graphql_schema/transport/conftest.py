"""The transports' own fixtures."""

from tests.fixtures.http import endpoint, serve

__all__ = ["endpoint", "serve"]
