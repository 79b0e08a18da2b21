"""All tests in a browser share one event loop, on which the browser lives."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.async_api import expect

from tests.fixtures.browser import PATIENCE_MS, browser, dashboard, staff, transaction, windows

__all__ = ["browser", "dashboard", "staff", "transaction", "windows"]
_HERE = Path(__file__).parent

expect.set_options(timeout=PATIENCE_MS)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if _HERE in item.path.parents:
            item.add_marker(pytest.mark.asyncio(loop_scope="session"), append=False)
            item.add_marker(pytest.mark.xdist_group("browser"))  # one server, worker and browser, where groups count
