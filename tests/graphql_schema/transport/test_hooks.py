"""The server does not start when something inside a library is gone that a limit relies on."""

from __future__ import annotations

import pytest
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from app.errors import ConfigurationError
from graphql_schema.transport import hooks
from graphql_schema.transport.hooks import check_hooks


def test_pinned_versions_have_every_hook() -> None:
    check_hooks()


def test_missing_method_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(HttpToolsProtocol, "on_message_begin")

    with pytest.raises(ConfigurationError, match=r"uvicorn .*HttpToolsProtocol\.on_message_begin is missing"):
        check_hooks()


def test_missing_budget_of_comparisons_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hooks, "OverlappingFieldsCanBeMergedRule", lambda context: object())

    with pytest.raises(ConfigurationError, match="remaining_complexity_budget is missing"):
        check_hooks()
