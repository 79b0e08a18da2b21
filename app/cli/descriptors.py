"""Raises the limit on file descriptors: every connection takes one, and the usual limit is 1,024."""

from __future__ import annotations

import resource
from contextlib import suppress

WANTED_DESCRIPTORS = 1_048_576


def raise_descriptor_limit() -> int:
    """Raises the soft limit to the hard one and returns it; where that is not allowed, the limit stays."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    target = WANTED_DESCRIPTORS if hard == resource.RLIM_INFINITY else hard
    if soft != resource.RLIM_INFINITY and soft < target:
        with suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (target, hard))
    return resource.getrlimit(resource.RLIMIT_NOFILE)[0]
