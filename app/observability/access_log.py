"""One line for each request. Written past structlog, whose processors would cost more than some requests do."""

from __future__ import annotations

import logging
import sys
from datetime import UTC, datetime

import orjson

from app.config import LogFormat, Settings
from app.observability.logging import printable


class AccessLog:
    def __init__(self, settings: Settings) -> None:
        self.on = logging.getLevelNamesMapping()[settings.log_level.upper()] <= logging.INFO
        self._json = settings.log_format is LogFormat.JSON

    def write(self, request_id: str, status: int, seconds: float, **facts: str | None) -> None:
        """To be called where `on`. `facts` must hold nothing secret: they are written as they are."""
        ms = round(1000 * seconds, 1)
        at = datetime.now(UTC)
        if self._json:
            line = {"event": "request", "level": "info", "timestamp": at, "request_id": request_id,
                    "status": status, "ms": ms, **facts}  # fmt: skip
            sys.stderr.write(orjson.dumps(line, option=orjson.OPT_UTC_Z | orjson.OPT_APPEND_NEWLINE).decode())
        else:
            details = printable(" ".join(str(fact) for fact in facts.values() if fact))
            sys.stderr.write(f"{at:%H:%M:%S} {status} {ms:7.1f} ms  {details}  {printable(request_id)}\n")
