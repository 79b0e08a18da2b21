"""Serves GraphiQL to browsers in development: its page, and the assets that the page loads from this server only.

GraphiQL itself comes out of a wheel that is read as a folder of files and never imported; `INTEGRITY` says which
bytes are accepted, so the browser refuses anything else. Why so: docs/decisions/0002-graphiql-without-cdn.md.
Whether the page is offered at all is decided by the caller.
"""

from __future__ import annotations

import hashlib
from base64 import b64encode
from html import escape
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from string import Template

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, Response
from starlette.routing import BaseRoute, Route

from app.errors import ConfigurationError

WHEEL = "graphene-django-graphiql-static"
FOLDER_IN_WHEEL = "graphene_django_graphiql_static/static/graphene_django_graphiql_static"
STATIC = Path(__file__).parent / "static"
OPERATION_PARAMETERS = {"query", "documentId", "extensions"}
YEAR_S = 31_536_000

# In the order that the page loads them: GraphiQL 2.4.7, React 17.0.2, graphql-ws 5.13.1.
INTEGRITY = {
    "graphiql.min.css": "sha384-d7FYWnzKaTlP7q6QjcR7cgBzQ7qg7I5ghGeuzwLjzmmLGfgi8fXpUaebuXTTzcVK",
    "react.production.min.js": "sha384-7Er69WnAl0+tY5MWEvnQzWHeDFjgHSnlQfDDeWUvv8qlRXtzaF/pNo18Q2aoZNiO",
    "react-dom.production.min.js": "sha384-vj2XpC1SOa8PHrb0YlBqKN7CQzJYO72jz4CkDQ+ePL1pwOV4+dn05rPrbLGUuvCv",
    "graphiql.min.js": "sha384-D/IKSk3XqkadtnKEtZYmq7ogOIY6TFrKojcZiAhIqroSy4U+N1sXmMv0NdoHhzgr",
    "graphql-ws.min.js": "sha384-Z97pAtGP4LFSTRa6ymyvHN5i5nEn5uIQXyjv5X4eECJAoA8xOfJ18/YcqYE5gqtW",
}
OWN_FILES = ("page.css", "page.js")
MEDIA_TYPES = {".css": "text/css", ".js": "text/javascript"}

PAGE_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; font-src data:; img-src 'self' data:; "
        "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "Cache-Control": "no-cache",
    "Referrer-Policy": "no-referrer",
    "Vary": "Accept",
    "X-Content-Type-Options": "nosniff",
}
ASSET_HEADERS = {"Cache-Control": f"public, max-age={YEAR_S}, immutable", "X-Content-Type-Options": "nosniff"}


def wants_page(request: Request) -> bool:
    """True for a person's browser; a GET that carries an operation is answered as GraphQL, whatever it accepts."""
    carries_operation = not OPERATION_PARAMETERS.isdisjoint(request.query_params.keys())
    return request.method == "GET" and not carries_operation and "text/html" in request.headers.get("accept", "")


def page() -> HTMLResponse:
    """The page names its assets relative to its own address, `/graphql`, so it also works behind a path prefix."""
    return HTMLResponse(_HTML, headers=PAGE_HEADERS)


def routes() -> list[BaseRoute]:
    """The assets under /graphiql/; raises ConfigurationError when the wheel is not installed."""
    files = _asset_files()

    async def asset(request: Request) -> Response:
        file = files.get(request.path_params["name"])
        if file is None:
            raise HTTPException(404)
        return FileResponse(file, media_type=MEDIA_TYPES[file.suffix], headers=ASSET_HEADERS)

    return [Route("/graphiql/{name}", asset, methods=["GET"], name="graphiql-asset")]


def _asset_files() -> dict[str, Path]:
    try:
        folder = Path(str(distribution(WHEEL).locate_file(FOLDER_IN_WHEEL)))
    except PackageNotFoundError:
        raise ConfigurationError(f"PARLEY_GRAPHIQL is on, but the package {WHEEL} is not installed") from None
    return {name: folder / name for name in INTEGRITY} | {name: STATIC / name for name in OWN_FILES}


def _tag(name: str, integrity: str) -> str:
    # The version in the address lets a browser keep a file for a year and still see the next release at once.
    address = f"graphiql/{name}?v={hashlib.sha256(integrity.encode()).hexdigest()[:12]}"
    if name.endswith(".css"):
        return f'<link rel="stylesheet" href="{address}" integrity="{integrity}">'
    return f'<script defer src="{address}" integrity="{integrity}"></script>'


def _integrity(file: Path) -> str:
    return "sha384-" + b64encode(hashlib.sha384(file.read_bytes()).digest()).decode()


def _build_page() -> str:
    integrity = INTEGRITY | {name: _integrity(STATIC / name) for name in OWN_FILES}
    template = Template((STATIC / "page.html").read_text(encoding="utf-8"))
    return template.substitute(
        assets="\n    ".join(_tag(name, value) for name, value in integrity.items()),
        welcome=escape((STATIC / "welcome.graphql").read_text(encoding="utf-8")),
    )


_HTML = _build_page()
