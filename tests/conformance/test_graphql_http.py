"""Every audit that graphql-http has for servers, run by Node against the whole application."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from app.auth.roles import Role
from tests.fixtures.parley import Parley

FOLDER = Path(__file__).parent / "graphql_http"
AUDITS = 61


async def run(*command: str, **environment: str) -> tuple[int, str, str]:
    process = await asyncio.create_subprocess_exec(
        *command,
        cwd=FOLDER,
        env=os.environ | environment,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    output, errors = await process.communicate()
    return process.returncode or 0, output.decode(), errors.decode()


@pytest.fixture
async def audits() -> None:
    """graphql-http, installed once from the lock file into a folder that git ignores."""
    if shutil.which("node") is None or shutil.which("npm") is None:
        pytest.skip("Node is not installed")
    installed, locked = FOLDER / "node_modules" / ".package-lock.json", FOLDER / "package-lock.json"
    if installed.exists() and installed.stat().st_mtime >= locked.stat().st_mtime:
        return
    code, _, errors = await run("npm", "ci", "--no-audit", "--no-fund", "--prefer-offline")
    if code and "CI" not in os.environ:
        pytest.skip(f"npm cannot install graphql-http, which it does once and from the network: {errors[-300:]}")
    assert code == 0, errors


@pytest.mark.timeout(180)
async def test_all_audits_of_graphql_http_pass(audits: None, parley: Parley, subtests: Any) -> None:
    secret = parley.home.secrets[Role.INTEGRATOR]
    code, output, errors = await run("node", "audit.mjs", f"{parley.url}/graphql", PARLEY_KEY=secret)

    assert code == 0, errors
    results = json.loads(output)
    assert len(results) == AUDITS
    for result in results:
        with subtests.test(f"{result['id']} {result['name']}"):
            assert result["status"] == "ok", result["reason"]
