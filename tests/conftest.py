"""The fixtures of the whole suite, one file per noun in tests/fixtures."""

pytest_plugins = [
    "tests.fixtures.services",
    "tests.fixtures.database",
    "tests.fixtures.parley",
    "tests.fixtures.streams",
]
