"""Logs are one JSON object a line, carry the request's id, and hold no secret."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import structlog

from app.auth.tokens import new_secret
from app.config import Settings
from app.observability.access_log import AccessLog
from app.observability.logging import configure_logging, without_secrets

Lines = Callable[[], list[dict[str, Any]]]


@pytest.fixture
def stream() -> Iterator[io.StringIO]:
    root = logging.getLogger()
    before, level, configured = root.handlers[:], root.level, structlog.get_config()
    yield io.StringIO()
    root.handlers[:] = before
    root.setLevel(level)
    structlog.configure(**configured)
    structlog.contextvars.clear_contextvars()


@pytest.fixture
def lines(stream: io.StringIO) -> Lines:
    configure_logging(Settings(), stream)
    return lambda: [json.loads(line) for line in stream.getvalue().splitlines()]


def test_a_line_is_a_json_object_with_what_is_bound(lines: Lines) -> None:
    structlog.contextvars.bind_contextvars(request_id="abc")

    structlog.get_logger("app.here").info("it happened", count=3)

    (line,) = lines()
    assert line.pop("timestamp").endswith("Z")
    assert line == {"event": "it happened", "level": "info", "logger": "app.here", "count": 3, "request_id": "abc"}


def test_libraries_log_into_the_same_stream(lines: Lines) -> None:
    logging.getLogger("uvicorn.error").warning("port %d", 80)
    logging.getLogger("uvicorn.access").info("GET /")

    assert [line["event"] for line in lines()] == ["port 80"]


@pytest.mark.parametrize("form", ["json", "console"])
def test_no_secret_is_written_whatever_logs_it(stream: io.StringIO, form: str) -> None:
    secret = new_secret()
    configure_logging(Settings(log_format=form), stream)
    log = structlog.get_logger("app.here")

    log.info("key", header=f"Bearer {secret}", url="postgresql://ada:hunter2@host/db")
    logging.getLogger("x").error("redis://:hunter2@host %s", secret)
    try:
        local = secret
        raise ValueError(f"bad key {local}")
    except ValueError:
        log.exception("failed")

    written = stream.getvalue()
    assert secret not in written
    assert "hunter2" not in written
    assert secret[:13] in written
    assert "ValueError" in written


def test_what_is_not_secret_stays() -> None:
    text = "https://host:80/a@b parley_short http://host/x:y task_0190"

    assert without_secrets(text) == text


def test_level_is_kept(stream: io.StringIO) -> None:
    configure_logging(Settings(log_level="warning"), stream)

    structlog.get_logger("x").info("hidden")
    logging.getLogger("x").info("hidden too")

    assert stream.getvalue() == ""


def test_what_cannot_be_json_is_shown_as_it_prints(lines: Lines) -> None:
    structlog.get_logger("x").info("odd", value={1, 2}, key={3: object})

    assert lines()[0]["value"] == "{1, 2}"


def test_access_log_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    AccessLog(Settings()).write("abc", 200, 0.01234, method="POST", path="/graphql", operation=None)

    line = json.loads(capsys.readouterr().err)
    assert line.pop("timestamp").endswith("Z")
    assert line == {
        "event": "request", "level": "info", "request_id": "abc", "status": 200, "ms": 12.3,
        "method": "POST", "path": "/graphql", "operation": None,
    }  # fmt: skip


def test_access_log_is_off_above_info() -> None:
    assert [AccessLog(Settings(log_level=level)).on for level in ("info", "warning")] == [True, False]


def test_access_log_for_people(capsys: pytest.CaptureFixture[str]) -> None:
    AccessLog(Settings(log_format="console")).write("abc", 200, 0.01234, method="POST", operation="Agents")

    assert capsys.readouterr().err.rstrip().endswith("200    12.3 ms  POST Agents  abc")
