"""The id that a request carries through logs, errors and the response's X-Request-Id."""

from __future__ import annotations

import re
import secrets

import structlog

_SANE = re.compile(rb"[0-9A-Za-z._=/+:-]{8,128}")


def request_id(offered: bytes | None) -> bytes:
    """The client's or proxy's own id when it is one, else a new one; bound to the log lines of this task."""
    chosen = offered if offered and _SANE.fullmatch(offered) else secrets.token_hex(8).encode()
    structlog.contextvars.bind_contextvars(request_id=chosen.decode())
    return chosen
