"""`parley settings` shows every setting, hides secrets, and writes the page of the documentation."""

from collections.abc import Callable
from pathlib import Path

import app
from app.cli.settings import page
from app.config import Settings, environment_name
from tests.app.cli.conftest import Answer


def test_every_setting_is_listed(parley: Callable[..., Answer]) -> None:
    answer = parley("settings")

    assert answer.code == 0
    assert [field for field in Settings.model_fields if environment_name(field) not in answer.out] == []


def test_passwords_are_hidden(parley: Callable[..., Answer]) -> None:
    answer = parley(
        "settings",
        DATABASE_URL="postgresql://parley:sesame@db/parley",
        REDIS_URL="redis://:sesame@cache/0",
        PARLEY_DEMO_KEY="parley_sesame",
    )

    assert "sesame" not in answer.out
    assert "postgresql://parley:(hidden)@db/parley" in answer.out


def test_page_has_a_row_for_every_setting(parley: Callable[..., Answer]) -> None:
    page = parley("settings", "--markdown").out

    assert [line.split("`")[1] for line in page.splitlines() if line.startswith("| `")] == [
        environment_name(field) for field in Settings.model_fields
    ]


def test_page_does_not_depend_on_the_environment(parley: Callable[..., Answer]) -> None:
    assert parley("settings", "--markdown").out == parley("settings", "--markdown", PARLEY_PORT="9999").out


def test_page_in_the_documentation_is_not_stale() -> None:
    found = (Path(app.__file__).parents[1] / "docs" / "settings.md").read_text(encoding="utf-8")

    assert found == page(), "run: make schema"
