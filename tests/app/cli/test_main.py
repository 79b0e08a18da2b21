"""The command as a whole: help that is quick and complete, exit codes, and errors without tracebacks."""

import subprocess
import sys
from collections.abc import Callable

import pytest

from app.cli import COMMANDS
from tests.app.cli.conftest import Answer


def test_help_lists_every_command(parley: Callable[..., Answer]) -> None:
    answer = parley("--help")

    assert answer.code == 0
    for name, line in COMMANDS.items():
        assert f"{name} " in answer.out
        assert line in answer.out


@pytest.mark.parametrize("name", [name for name in COMMANDS if name not in ("serve", "worker", "schema")])
def test_every_command_has_help_of_its_own(parley: Callable[..., Answer], name: str) -> None:
    answer = parley(name, "--help")

    assert answer.code == 0
    assert f"Usage: parley {name}" in answer.out


def test_help_imports_no_framework() -> None:
    code = (
        "import sys\n"
        "from app.cli import main\n"
        "try: main(['--help'])\n"
        "except SystemExit: pass\n"
        "print(sorted({'sqlalchemy', 'strawberry', 'alembic', 'uvicorn'} & sys.modules.keys()))"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.splitlines()[-1] == "[]"


def test_version_is_told(parley: Callable[..., Answer]) -> None:
    assert parley("--version").out.startswith("parley 0.")


@pytest.mark.parametrize("arguments", [["nonsense"], ["dev", "--nonsense"], ["dev", "--port", "x"]])
def test_misuse_exits_with_2(parley: Callable[..., Answer], arguments: list[str]) -> None:
    answer = parley(*arguments)

    assert answer.code == 2
    assert "Traceback" not in answer.err


def test_wrong_setting_names_itself_in_one_line(parley: Callable[..., Answer]) -> None:
    answer = parley("settings", PARLEY_PORT="eight thousand", PARLEY_LOG_LEVEL="loud")

    assert answer.code == 2
    assert answer.out == ""
    assert len(answer.err.splitlines()) == 1
    assert "PARLEY_PORT: " in answer.err
    assert "PARLEY_LOG_LEVEL: must be debug, info, warning or error (got 'loud')" in answer.err


@pytest.mark.parametrize("arguments", [["migrate"], ["keys", "list"], ["team", "export"]])
def test_command_without_a_database_says_how_to_name_one(parley: Callable[..., Answer], arguments: list[str]) -> None:
    answer = parley(*arguments)

    assert answer.code == 2
    assert "DATABASE_URL is not set" in answer.err


@pytest.mark.parametrize("arguments", [["migrate"], ["keys", "list"]])
def test_database_that_is_away_is_one_line(parley: Callable[..., Answer], arguments: list[str]) -> None:
    answer = parley(*arguments, DATABASE_URL="postgresql://nobody@127.0.0.1:1/none")

    assert answer.code == 1
    assert "The database does not answer." in answer.err
    assert "Traceback" not in answer.err
