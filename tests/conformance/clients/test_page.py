"""docs/clients.md shows what the scripts here run, and names the releases that they run with."""

from __future__ import annotations

import json
import re

import pytest

from tests.conformance.clients.stage import FOLDER

PAGE = (FOLDER.parents[2] / "docs" / "clients.md").read_text()
BLOCKS = re.findall(r"```(?:js|python)\n(.*?)```", PAGE, re.DOTALL)
SCRIPTS = [path.read_text() for path in [*FOLDER.glob("*.mjs"), *FOLDER.glob("relay/*.mjs"), FOLDER / "gql_client.py"]]


@pytest.mark.parametrize("block", BLOCKS, ids=[block.splitlines()[0] for block in BLOCKS])
def test_every_line_shown_is_run_in_this_order(block: str) -> None:
    shown = [line for line in block.splitlines() if line]

    assert any(all(line in lines for line in shown) for lines in (iter(text.splitlines()) for text in SCRIPTS))


@pytest.mark.parametrize("package", ["@apollo/client", "@urql/core", "relay-runtime", "graphql-ws", "graphql-sse"])
def test_the_releases_named_are_the_ones_tested(package: str) -> None:
    dependencies = json.loads((FOLDER / "package.json").read_text())["dependencies"]

    assert dependencies[package] in PAGE
