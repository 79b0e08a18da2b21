"""Serves the dashboard to browsers: its page at `/`, and the scripts and styles that the page loads from here only.

The dashboard is a client like any other. It speaks the public GraphQL API and has no other door to the server.
Why it is not built: docs/decisions/0015-dashboard-without-a-build.md. Whether it is offered is decided by the caller.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from string import Template

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

STATIC = Path(__file__).parent / "static"
MEDIA_TYPES = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
YEAR_S = 31_536_000

# Trusted types are refused altogether: where a browser knows them, no text can become markup or script, whoever wrote
# it. Styles are set by properties of elements, which a policy does not count as inline.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
)
PAGE_HEADERS = {
    "Content-Security-Policy": POLICY,
    "Cache-Control": "no-cache",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
ASSET_HEADERS = {"Cache-Control": f"public, max-age={YEAR_S}, immutable", "X-Content-Type-Options": "nosniff"}


def routes() -> list[BaseRoute]:
    """The page at `/`, and its files below a folder that is named for their content.

    Modules import each other by relative addresses, so one version in the path covers them all: a browser keeps them
    for a year and sees the next release at once.
    """
    files = _files()
    version = _version(files)
    html = _page(files, version).encode()
    tag = f'"{hashlib.sha256(html).hexdigest()[:16]}"'

    async def page(request: Request) -> Response:
        headers = PAGE_HEADERS | {"ETag": tag}
        if tag in request.headers.get("if-none-match", ""):
            return Response(status_code=304, headers=headers)
        return Response(html, media_type="text/html", headers=headers)

    async def asset(request: Request) -> Response:
        name = request.path_params["name"]
        if request.path_params["version"] != version or name not in files:
            raise HTTPException(404)
        return Response(files[name], media_type=MEDIA_TYPES[Path(name).suffix], headers=ASSET_HEADERS)

    return [
        Route("/", page, methods=["GET"], name="dashboard"),
        Route("/dashboard/{version}/{name:path}", asset, methods=["GET"], name="dashboard-asset"),
    ]


def _files() -> dict[str, bytes]:
    """All of them, some hundred kilobytes, by their path: what is not listed cannot be asked for."""
    found = sorted(file for file in STATIC.rglob("*") if file.suffix in MEDIA_TYPES)
    return {file.relative_to(STATIC).as_posix(): file.read_bytes() for file in found}


def _version(files: dict[str, bytes]) -> str:
    content = hashlib.sha256()
    for name, body in files.items():
        content.update(f"{name}\0{len(body)}\0".encode() + body)
    return content.hexdigest()[:12]


def _page(files: dict[str, bytes], version: str) -> str:
    """Addresses are relative to the page's own, so that it also works behind a path prefix."""
    folder = f"dashboard/{version}"
    styles = [f'<link rel="stylesheet" href="{folder}/{name}">' for name in files if name.endswith(".css")]
    modules = [name for name in files if name.endswith(".js") and name not in ("theme.js", "main.js")]
    preloads = [f'<link rel="modulepreload" href="{folder}/{name}">' for name in modules]
    template = Template((STATIC / "index.html").read_text(encoding="utf-8"))
    return template.substitute(folder=folder, styles="\n    ".join(styles), preloads="\n    ".join(preloads))
