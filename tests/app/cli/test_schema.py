"""`parley schema export` writes the schema and notices a stale file."""

from collections.abc import Callable
from pathlib import Path

from graphql import build_schema

from tests.app.cli.conftest import Answer


def test_exported_file_is_a_schema_in_order(parley: Callable[..., Answer], tmp_path: Path) -> None:
    file = tmp_path / "schema.graphql"

    answer = parley("schema", "export", "--output", str(file))

    names = [name for name in build_schema(file.read_text()).type_map if not name.startswith("__")]
    assert (answer.code, answer.out) == (0, f"Wrote {file}.\n")
    assert parley("schema", "export", "--output", "-").out == file.read_text()
    assert {"Query", "Mutation", "Subscription", "Agent"} <= set(names)


def test_check_tells_a_stale_file_and_leaves_it(parley: Callable[..., Answer], tmp_path: Path) -> None:
    file = tmp_path / "schema.graphql"
    parley("schema", "export", "--output", str(file))
    fresh = parley("schema", "export", "--output", str(file), "--check")
    file.write_text(file.read_text() + "# edited by hand\n")

    stale = parley("schema", "export", "--output", str(file), "--check")

    assert (fresh.code, fresh.out) == (0, f"{file} is up to date.\n")
    assert stale.code == 1
    assert "-# edited by hand" in stale.err
    assert f"{file} is stale. Run: make schema" in stale.err
    assert file.read_text().endswith("# edited by hand\n")


def test_missing_file_is_stale(parley: Callable[..., Answer], tmp_path: Path) -> None:
    answer = parley("schema", "export", "--output", str(tmp_path / "none.graphql"), "--check")

    assert answer.code == 1
    assert not (tmp_path / "none.graphql").exists()
