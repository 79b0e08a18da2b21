"""`parley team` makes a team what its file says and exports a file that changes nothing."""

from collections.abc import Callable
from pathlib import Path

from tests.app.cli.conftest import Answer


def test_file_makes_a_team(parley_on_database: Callable[..., Answer], team_file: Path) -> None:
    first = parley_on_database("team", "apply", str(team_file), "--team", "writers", "--create")
    again = parley_on_database("team", "apply", str(team_file))

    assert first.code == 0
    assert first.out.splitlines()[:2] == ["+ agent ada", "+ agent luke"]
    assert (again.code, again.out) == (0, "Team writers is up to date; nothing to change.\n")


def test_export_applied_changes_nothing(
    parley_on_database: Callable[..., Answer], team_file: Path, tmp_path: Path
) -> None:
    parley_on_database("team", "apply", str(team_file), "--team", "writers", "--create")
    exported = tmp_path / "exported.yaml"
    exported.write_text(parley_on_database("team", "export").out)

    answer = parley_on_database("team", "apply", str(exported))

    assert (answer.code, answer.out) == (0, "Team writers is up to date; nothing to change.\n")


def test_dry_run_changes_nothing(parley_on_database: Callable[..., Answer], team_file: Path) -> None:
    answer = parley_on_database("team", "apply", str(team_file), "--team", "writers", "--create", "--dry-run")

    assert answer.code == 0
    assert answer.out.splitlines()[:2] == ["+ agent ada", "+ agent luke"]
    assert "There is no team yet." in parley_on_database("team", "export").err


def test_every_problem_is_told_with_its_line(parley_on_database: Callable[..., Answer], team_file: Path) -> None:
    team_file.write_text("version: 1\nname: Writers\nagents:\n  - name: Ada\n    tone: 3\n    model_tier: 9\n")

    answer = parley_on_database("team", "apply", str(team_file), "--team", "writers", "--create")

    assert answer.code == 1
    assert f"{team_file}:5: agents.0.tone: " in answer.err
    assert f"{team_file}:6: agents.0.model_tier: " in answer.err
    assert "There is no team yet." in parley_on_database("team", "export").err


def test_missing_file_is_one_line(parley_on_database: Callable[..., Answer], tmp_path: Path) -> None:
    answer = parley_on_database("team", "apply", str(tmp_path / "none.yaml"))

    assert answer.code == 1
    assert answer.err == f"Cannot read {tmp_path / 'none.yaml'}: No such file or directory.\n"
