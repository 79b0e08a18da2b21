"""A running endpoint, as the transports are tested on."""

from tests.fixtures.http import endpoint, serve

__all__ = ["endpoint", "serve"]
