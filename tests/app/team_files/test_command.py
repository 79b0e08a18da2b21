"""`parley team` applies files, shows what changed, and names problems as FILE:LINE."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from app.cli import main

FILE = """\
name: Writers
context_variables: {min_words: 800}
runtime_variables: {words: number}
agents: [{name: writer}, {name: reviewer}]
handoffs: [{from_agent: writer, to_agent: reviewer, condition: "words > {{ min_words }}"}]
"""
Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "team.yaml"
    path.write_text(FILE)
    return path


@pytest.fixture
def run(database_url: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    monkeypatch.setenv("DATABASE_URL", database_url)
    monkeypatch.setenv("REDIS_URL", "redis://localhost:1/0")  # not needed: servers find the change by polling

    def call(*arguments: str | Path) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as ended:
            main([str(argument) for argument in arguments])
        output = capsys.readouterr()
        return int(ended.value.code or 0), output.out, output.err

    return call


def test_a_file_is_applied_once_and_then_changes_nothing(run: Run, file: Path) -> None:
    first = run("team", "apply", file, "--team", "writers")
    second = run("team", "apply", file)

    assert first[0] == second[0] == 0
    assert "+ agent writer\n+ agent reviewer\n" in first[1]
    assert "+ handoff writer → reviewer when words > {{ min_words }} (priority 1)\n" in first[1]
    assert "Team writers is up to date now." in first[1]
    assert second[1] == "Team writers is up to date; nothing to change.\n"


def test_a_dry_run_changes_nothing_not_even_the_team(run: Run, file: Path) -> None:
    code, shown, _ = run("team", "apply", file, "--team", "writers", "--dry-run")

    assert code == 0
    assert "Team writers would change." in shown
    assert run("team", "export", "--team", "writers")[0] == 1


def test_problems_are_told_as_file_and_line(run: Run, file: Path) -> None:
    file.write_text(FILE.replace("words > {{ min_words }}", "words > {{ min_words").replace("name: W", "nam: W"))

    unread = "'{{' begins a variable such as {{ min_words }} (column 9 of the condition)"

    code, _, complaint = run("team", "apply", file, "--team", "writers")

    assert code == 1
    assert complaint.splitlines() == [
        f"{file}:1: name: is needed",
        f"{file}:1: nam: is not a known field; did you mean name?",
        f"{file}:5: handoffs.0.condition: {unread}",
    ]

    file.write_text(FILE.replace("words > {{ min_words }}", "words > {{ min_wrds }}"))
    _, _, complaint = run("team", "apply", file, "--team", "writers")

    unknown = "there is no variable 'min_wrds'; did you mean 'min_words'? (column 9 of the condition)"
    assert complaint.splitlines() == [f"{file}:5: handoffs.0.condition: {unknown}"]


def test_a_slip_of_the_pen_does_not_make_a_second_team(run: Run, file: Path) -> None:
    run("team", "apply", file, "--team", "writers")

    refused = run("team", "apply", file, "--team", "writes")
    made = run("team", "apply", file, "--team", "writes", "--create")

    assert (refused[0], made[0]) == (1, 0)
    assert "writers" in refused[2]


def test_a_bad_team_slug_is_refused(run: Run, file: Path) -> None:
    code, _, complaint = run("team", "apply", file, "--team", "Not A Slug")

    assert code == 1
    assert "--team: may hold only lower-case letters" in complaint


def test_an_export_can_be_applied(run: Run, file: Path, tmp_path: Path) -> None:
    run("team", "apply", file, "--team", "writers")
    exported = tmp_path / "exported.yaml"

    exported.write_text(run("team", "export")[1])

    assert "nothing to change" in run("team", "apply", exported, "--prune")[1]


@pytest.mark.parametrize("content", [None, b"name: \xff\n"])
def test_an_unreadable_file_is_named(run: Run, tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "odd.yaml"
    if content is not None:
        path.write_bytes(content)

    code, _, complaint = run("team", "apply", path, "--team", "writers")

    assert code == 1
    assert "odd.yaml" in complaint
