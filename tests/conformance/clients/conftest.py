"""A running server for the whole module, a stage on it for each test, and the clients, installed and compiled once."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path

import pytest

from app.cli.schema import schema_text
from app.dev.postgres import EmbeddedPostgres
from app.dev.redis import EmbeddedValkey
from tests.conformance.clients.stage import FOLDER, Script, Server, Stage, open_stage
from tests.fixtures.database import Maintenance
from tests.fixtures.services import one_worker_at_a_time

HASHES = {"relay": None, "relay_md5": "MD5", "relay_sha256": "SHA256"}


@pytest.fixture(scope="session")
def packages(run_folder: Path) -> None:
    """The clients, installed once from the lock file into a folder that git ignores."""
    if shutil.which("node") is None or shutil.which("npm") is None:
        pytest.skip("Node is not installed")
    with one_worker_at_a_time(run_folder):
        installed, locked = FOLDER / "node_modules" / ".package-lock.json", FOLDER / "package-lock.json"
        if installed.exists() and installed.stat().st_mtime >= locked.stat().st_mtime:
            return
        command = ["npm", "ci", "--no-audit", "--no-fund", "--prefer-offline"]
        done = subprocess.run(command, cwd=FOLDER, capture_output=True, text=True)
    if done.returncode and "CI" not in os.environ:
        pytest.skip(f"npm cannot install the clients, which it does once and from the network: {done.stderr[-300:]}")
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def server(
    postgres: EmbeddedPostgres,
    maintenance: Maintenance,
    template_database: str,
    database_names: Iterator[str],
    valkey: EmbeddedValkey,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Server]:
    name = next(database_names)
    maintenance.execute(f"create database {name} template {template_database}")
    running = Server(postgres.url(name), valkey.url(), tmp_path_factory.mktemp("server") / "log")
    running.start()
    yield running
    running.end()
    maintenance.drop_later(name)


@pytest.fixture
async def stage(server: Server) -> AsyncIterator[Stage]:
    async with open_stage(server) as opened:
        yield opened


@pytest.fixture
def compiled(packages: None, tmp_path: Path) -> Callable[[str | None], Path]:
    """Compiles Relay's documents against the schema as it is now; a hash makes them persisted ones."""

    def compile_(algorithm: str | None) -> Path:
        folder = tmp_path / (algorithm or "text")
        (folder / "artifacts").mkdir(parents=True)
        (folder / "schema.graphql").write_text(schema_text())
        (folder / "persisted.json").write_text("{}")
        shutil.copytree(FOLDER / "relay", folder / "src")
        config = {
            "src": "src",
            "schema": "schema.graphql",
            "artifactDirectory": "artifacts",
            "language": "javascript",
            "eagerEsModules": False,
        }
        if algorithm:
            config["persistConfig"] = {"file": "persisted.json", "algorithm": algorithm}
        (folder / "relay.config.json").write_text(json.dumps(config))
        command = ["node", FOLDER / "node_modules/relay-compiler/cli.js", "relay.config.json"]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
        return folder

    return compile_


@pytest.fixture
def start(stage: Stage, compiled: Callable[[str | None], Path]) -> Callable[[str], Awaitable[Script]]:
    """Starts a client by its name on this test's stage."""

    async def start_(client: str) -> Script:
        slug = client.replace("_", "-")
        if client == "gql":
            return await stage.play(slug, sys.executable, "gql_client.py")
        if client not in HASHES:
            return await stage.play(slug, "node", f"{client}.mjs")
        folder = compiled(HASHES[client])
        if HASHES[client]:
            await stage.trust(json.loads((folder / "persisted.json").read_text()))
        return await stage.play(slug, "node", "relay/relay.mjs", ARTIFACTS=str(folder / "artifacts"))

    return start_
