"""The fixtures of the whole suite, one file per noun in tests/fixtures."""

import gc
import os

import pytest
from hypothesis import HealthCheck, settings

# How long an example takes is the machine's business: a busy one must not fail a test. Nor must chance: the examples
# are the same each time, but for those of `make soak`.
settings.register_profile(
    "parley",
    deadline=None,
    derandomize=not os.environ.get("PARLEY_SOAK"),
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("parley")

# Tests have the offline model do as they say.
os.environ["PARLEY_OFFLINE_DIRECTIVES"] = "true"

pytest_plugins = [
    "tests.fixtures.services",
    "tests.fixtures.database",
    "tests.fixtures.parley",
    "tests.fixtures.streams",
    "tests.fixtures.installation",
]
# What takes longest stands first in the share of one worker each: the others take over from the ends of the shares.
# Those that start an installation share it, so one worker has them all.
FIRST = (
    ("tests/e2e/", "tests/security/", "tests/conformance/clients/"),
    ("tests/dashboard/",),  # with one browser for them all
    (
        "tests/app/dev/", "tests/graphql_schema/test_isolation", "tests/graphql_schema/test_idempotency",
        "tests/graphql_schema/messages/test_inbox_events", "tests/graphql_schema/planner/", "tests/jobs/",
    ),
)  # fmt: skip

gc.disable()  # until all is imported: what that makes stays


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Equal shares, as the workers get them at first."""
    rest = [item for item in items if not item.nodeid.startswith(sum(FIRST, ()))]
    size, ordered = len(items) // len(FIRST) + 1, list[pytest.Item]()
    for names in FIRST:
        share = [item for item in items if item.nodeid.startswith(names)]
        missing = max(0, size - len(share))
        ordered += [*share, *rest[:missing]]
        del rest[:missing]
    items[:] = ordered + rest


def pytest_collection_finish() -> None:
    gc.freeze()
    gc.enable()
