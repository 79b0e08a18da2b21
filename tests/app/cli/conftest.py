"""Fixtures of the tests of the `parley` command."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from app.cli import main

TEAM_FILE = """\
version: 1
name: Writers
agents:
  - name: Ada
    skills:
      - name: data
  - name: Luke
"""


@dataclass(frozen=True)
class Answer:
    code: int
    out: str
    err: str


@pytest.fixture
def parley(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Callable[..., Answer]:
    """Runs a command in this process, where no `parley dev` is running."""
    monkeypatch.setenv("PARLEY_DATA_DIR", str(tmp_path / "nothing"))
    monkeypatch.setenv("COLUMNS", "200")
    for name in ("DATABASE_URL", "REDIS_URL"):
        monkeypatch.delenv(name, raising=False)

    def run(*arguments: str, **environment: str) -> Answer:
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        with pytest.raises(SystemExit) as ended:
            main(list(arguments))
        said = capsys.readouterr()
        return Answer(int(ended.value.code or 0), said.out, said.err)

    return run


@pytest.fixture
def parley_on_database(parley: Callable[..., Answer], database_url: str) -> Callable[..., Answer]:
    return lambda *arguments: parley(*arguments, DATABASE_URL=database_url)


@pytest.fixture
def team_file(tmp_path: Path) -> Path:
    file = tmp_path / "team.yaml"
    file.write_text(TEAM_FILE)
    return file
