"""Pages of other origins: refused by default, allowed where the setting names them."""

from __future__ import annotations

import httpx
import pytest

from app.config import load_settings
from app.main import create_app

PREFLIGHT = {
    "Origin": "https://dash.example.org",
    "Access-Control-Request-Method": "POST",
    "Access-Control-Request-Headers": "authorization, content-type",
}


@pytest.mark.parametrize(
    ("origins", "allowed"),
    [
        ("", None),
        ("https://other.example.org", None),
        ("https://other.example.org, https://dash.example.org", "https://dash.example.org"),
        ("*", "*"),
    ],
)
async def test_preflight(database_url: str, redis_url: str, origins: str, allowed: str | None) -> None:
    settings = load_settings(DATABASE_URL=database_url, REDIS_URL=redis_url, cors_origins=origins)
    transport = httpx.ASGITransport(create_app(settings))

    async with httpx.AsyncClient(transport=transport, base_url="http://parley") as client:
        answer = await client.options("/graphql", headers=PREFLIGHT)

    assert answer.headers.get("access-control-allow-origin") == allowed
