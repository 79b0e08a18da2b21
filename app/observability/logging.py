"""Structured logs: one JSON object a line for machines, coloured lines for people, and never a secret in either."""

from __future__ import annotations

import io
import logging
import re
import sys
import unicodedata
from typing import Any, TextIO

import orjson
import structlog
from structlog.typing import EventDict, Processor, WrappedLogger

from app.config import LogFormat, Settings

_SECRETS = re.compile(r"(parley_[0-9A-Za-z]{6})[0-9A-Za-z]{10,}|(://[^:/@\s\"]*:)[^@/\s\"]+(?=@)")
_UNPRINTABLE = {"Cc", "Cf", "Cs", "Zl", "Zp"}  # Unicode categories: control, format, surrogate, line separators
# Libraries that say at each step what we say once, or log what a client sent.
_QUIET = {
    "uvicorn.access": logging.ERROR,
    "uvicorn.error": logging.WARNING,
    "arq.worker": logging.WARNING,
    "asyncio": logging.WARNING,
    "httpx": logging.WARNING,
}


def configure_logging(settings: Settings, stream: TextIO | None = None) -> None:
    """Route structlog and the standard library's logging to one stream, standard error unless told otherwise."""
    level = logging.getLevelNamesMapping()[settings.log_level.upper()]
    shared: list[Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_logger_name,
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    structlog.configure(
        processors=[*shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.stdlib.LoggerFactory(),
        cache_logger_on_first_use=False,  # a cached logger would never hear of a later configuration
    )
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *_renderers(settings.log_format)],
        )
    )
    logging.basicConfig(handlers=[handler], level=level, force=True)
    for name, least in _QUIET.items():
        logging.getLogger(name).setLevel(max(level, least))


def without_secrets(text: str) -> str:
    """Keys keep the part that is public, URLs lose their password."""
    return _SECRETS.sub(lambda match: f"{match[1]}…" if match[1] else f"{match[2]}…", text)


def _renderers(form: LogFormat) -> list[Processor]:
    if form is LogFormat.CONSOLE:
        console = structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty(), exception_formatter=_write_traceback)
        return [_escape_event, console, _scrub]
    return [structlog.processors.format_exc_info, structlog.processors.JSONRenderer(_dumps), _scrub]


def printable(text: str) -> str:
    """The text with control and format characters escaped: nobody can forge a line or steer the reader's terminal."""
    if text.isprintable():
        return text
    return "".join(_escape(char) if unicodedata.category(char) in _UNPRINTABLE else char for char in text)


def _escape(char: str) -> str:
    return char.encode("unicode_escape").decode("ascii")


def _escape_event(logger: WrappedLogger, method: str, event: EventDict) -> EventDict:
    """Lists and other values are shown by their repr, which escapes already."""
    return {name: printable(value) if isinstance(value, str) else value for name, value in event.items()}


def _write_traceback(stream: TextIO, exception: Any) -> None:
    """Without local variables, which may hold keys. The margin marks lines that an exception's text brought along."""
    plain = io.StringIO()
    structlog.dev.plain_traceback(plain, exception)
    lines = plain.getvalue().rstrip("\n").split("\n")
    stream.write("\n".join(f"  | {printable(line)}" for line in lines))


def _dumps(event: EventDict, **options: Any) -> str:
    return orjson.dumps(event, default=repr, option=orjson.OPT_NON_STR_KEYS).decode()


def _scrub(logger: WrappedLogger, method: str, rendered: Any) -> Any:
    return without_secrets(rendered)
