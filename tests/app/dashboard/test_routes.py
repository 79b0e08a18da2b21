"""The dashboard's files reach a browser under a strict policy, are kept for ever by content, and load nothing else."""

from __future__ import annotations

import re

import pytest
from httpx import ASGITransport, AsyncClient
from starlette.applications import Starlette
from starlette.routing import Mount

from app.dashboard.routes import STATIC, routes


@pytest.fixture
def client() -> AsyncClient:
    app = Starlette(routes=[Mount("/behind/a/prefix", routes=routes())])
    return AsyncClient(transport=ASGITransport(app), base_url="http://parley/behind/a/prefix/")


async def test_page_has_a_strict_policy_and_is_asked_for_again_only_when_it_changed(client: AsyncClient) -> None:
    page = await client.get("")

    policy = dict(part.strip().split(" ", 1) for part in page.headers["content-security-policy"].split(";"))
    assert policy["default-src"] == policy["trusted-types"] == policy["frame-ancestors"] == "'none'"
    assert policy["script-src"] == policy["style-src"] == policy["connect-src"] == "'self'"
    assert "unsafe" not in page.headers["content-security-policy"]
    assert page.headers["cache-control"] == "no-cache"
    again = await client.get("", headers={"If-None-Match": page.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    assert (await client.head("")).headers["content-length"] == str(len(page.content))


async def test_all_that_the_page_loads_is_there_by_relative_addresses_and_kept(client: AsyncClient) -> None:
    page = (await client.get("")).text

    addresses = re.findall(r'(?:src|href)="([^"]+)"', page)

    assert len(addresses) > 30
    assert "<style" not in page
    assert not re.search(r"<script(?![^>]* src=)", page)
    for address in addresses:
        assert re.match(r"dashboard/[0-9a-f]{12}/", address)
        asset = await client.get(address)
        assert asset.status_code == 200, address
        assert "immutable" in asset.headers["cache-control"]


@pytest.mark.parametrize("name", ["index.html", "README.md", "%2e%2e/routes.py", "..%2froutes.py", "pages/"])
async def test_nothing_else_is_served(client: AsyncClient, name: str) -> None:
    [folder] = set(re.findall(r'"(dashboard/[0-9a-f]{12}/)', (await client.get("")).text))

    assert (await client.get(folder + "main.js")).status_code == 200
    assert (await client.get(folder + name)).status_code == 404
    assert (await client.get("dashboard/000000000000/main.js")).status_code == 404


def test_every_module_imports_only_files_beside_it_that_exist() -> None:
    for module in STATIC.rglob("*.js"):
        text = module.read_text(encoding="utf-8")
        for address in re.findall(r"from '([^']+)'", text):
            assert (module.parent / address).is_file(), f"{module.name} imports {address}"
        assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function", text)


def test_every_page_is_registered() -> None:
    registry = (STATIC / "pages.js").read_text(encoding="utf-8")

    for page in (STATIC / "pages").glob("*.js"):
        assert page.stem == "sign_in" or f"'./pages/{page.name}'" in registry
