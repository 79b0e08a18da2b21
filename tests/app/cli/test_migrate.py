"""`parley migrate` brings an empty database to the newest migration, once, and can only look."""

from collections.abc import Callable

from app.db import migrate
from tests.app.cli.conftest import Answer


def test_empty_database_is_migrated_once(parley: Callable[..., Answer], empty_database_url: str) -> None:
    first = parley("migrate", DATABASE_URL=empty_database_url)
    second = parley("migrate")

    assert (first.code, first.out) == (0, f"Migrated from nothing to {migrate.head()}.\n")
    assert (second.code, second.out) == (0, f"The database is up to date ({migrate.head()}).\n")


def test_check_changes_nothing(parley: Callable[..., Answer], empty_database_url: str) -> None:
    answer = parley("migrate", "--check", DATABASE_URL=empty_database_url)

    assert answer.code == 1
    assert answer.err == f"The database is at nothing, this version needs {migrate.head()}. Run `parley migrate`.\n"
    assert migrate.current(empty_database_url) is None


def test_check_passes_at_the_newest(parley_on_database: Callable[..., Answer]) -> None:
    assert parley_on_database("migrate", "--check").code == 0
